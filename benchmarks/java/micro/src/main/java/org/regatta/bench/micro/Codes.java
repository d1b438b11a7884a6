package org.regatta.bench.micro;

import java.security.MessageDigest;
import java.util.Base64;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

final class Codes extends Group {
    private static final int[] BYTES = {64, 1024, 16384};

    @Override
    void addOperations() throws Exception {
        values("crc32_update", "bytes", BYTES, bytes -> {
            byte[] prose = Inputs.prose(bytes);
            CRC32 crc = new CRC32();
            return i -> {
                crc.update(prose, 0, bytes);
                return crc.getValue();
            };
        });
        objects("sha256_digest", "bytes", BYTES, bytes -> {
            byte[] prose = Inputs.prose(bytes);
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            return i -> sha.digest(prose);
        });
        objects("base64_encode", "bytes", BYTES, bytes -> {
            byte[] prose = Inputs.prose(bytes);
            return i -> Base64.getEncoder().encode(prose);
        });
        values("deflate", "bytes", BYTES, bytes -> {
            byte[] prose = Inputs.prose(bytes);
            byte[] packed = new byte[2 * bytes];
            Deflater deflater = new Deflater();
            opened(deflater::end);
            return i -> {
                deflater.reset();
                deflater.setInput(prose);
                deflater.finish();
                return deflater.deflate(packed);
            };
        });
        values("inflate", "bytes", BYTES, bytes -> {
            byte[] packed = new byte[2 * bytes];
            Deflater deflater = new Deflater();
            opened(deflater::end);
            deflater.setInput(Inputs.prose(bytes));
            deflater.finish();
            int length = deflater.deflate(packed);
            byte[] prose = new byte[bytes];
            Inflater inflater = new Inflater();
            opened(inflater::end);
            return i -> {
                inflater.reset();
                inflater.setInput(packed, 0, length);
                return inflater.inflate(prose);
            };
        });
    }
}
