package org.regatta.bench.chat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToIntFunction;

/**
 * The members of a room. Readers take a snapshot without a lock; joining and leaving replace it.
 *
 * @param <U> a user's connection
 */
final class Room<U> {
    private volatile List<U> users = List.of();

    /** The current receivers; immutable. */
    List<U> users() {
        return users;
    }

    /**
     * All rooms of a server. A room exists from the first join to the last leave.
     *
     * @param <U> a user's connection
     */
    static final class Directory<U> {
        private final ConcurrentHashMap<Integer, Room<U>> rooms = new ConcurrentHashMap<>();
        private final ToIntFunction<U> numberOf;

        /** @param numberOf the number of a user, unique in its room */
        Directory(ToIntFunction<U> numberOf) {
            this.numberOf = numberOf;
        }

        /** @throws ProtocolException if the room already has a user of that number */
        Room<U> join(int number, U user) throws ProtocolException {
            boolean[] taken = new boolean[1];
            Room<U> joined = rooms.compute(number, (key, found) -> {
                Room<U> room = found == null ? new Room<>() : found;
                int wanted = numberOf.applyAsInt(user);
                taken[0] = room.users.stream().anyMatch(other -> numberOf.applyAsInt(other) == wanted);
                if (!taken[0]) {
                    List<U> more = new ArrayList<>(room.users);
                    more.add(user);
                    room.users = List.copyOf(more);
                }
                return room;
            });
            if (taken[0]) {
                throw new ProtocolException("room " + number + " already has that user");
            }
            return joined;
        }

        void leave(int number, U user) {
            rooms.computeIfPresent(number, (key, room) -> {
                List<U> fewer = new ArrayList<>(room.users);
                fewer.remove(user);
                room.users = List.copyOf(fewer);
                return fewer.isEmpty() ? null : room;
            });
        }
    }
}
