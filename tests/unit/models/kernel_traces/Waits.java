import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;

/** Waits once in each way that the flight recorder tells apart. */
public final class Waits {
    private static final class Shared {
        private boolean owned;
    }

    private static final Shared SHARED = new Shared();

    private Waits() {
    }

    public static void main(String[] arguments) throws Exception {
        Thread asker = new Thread(Waits::ask, "asker");
        synchronized (SHARED) {
            asker.start();
            while (asker.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(30);
        }
        asker.join();
        receive();
        try (FileOutputStream file = new FileOutputStream(arguments[0])) {
            file.write(new byte[5000]);
            file.getChannel().force(true);
        }
        System.gc();
    }

    private static void ask() {
        synchronized (SHARED) {
            SHARED.owned = true;
        }
        LockSupport.parkNanos(SHARED, 25_000_000);
    }

    private static void receive() throws Exception {
        InetAddress here = InetAddress.getLoopbackAddress();
        try (ServerSocket server = new ServerSocket(0, 1, here);
                Socket reading = new Socket(here, server.getLocalPort());
                Socket writing = server.accept()) {
            Thread writer = new Thread(() -> send(writing), "writer");
            writer.start();
            if (reading.getInputStream().read(new byte[100]) != 7) {
                throw new IOException("not the bytes of the writer");
            }
            writer.join();
            System.out.println(server.getLocalPort());
        }
    }

    private static void send(Socket socket) {
        try {
            long before = System.nanoTime();
            Thread.sleep(25);
            System.out.println(before + " " + System.nanoTime());
            socket.getOutputStream().write(new byte[7]);
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
