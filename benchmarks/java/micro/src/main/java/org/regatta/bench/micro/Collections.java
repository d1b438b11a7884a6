package org.regatta.bench.micro;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;

final class Collections extends Group {
    private static final int SIZE = 1024;
    private static final int[] ELEMENTS = {16, 128, 1024};

    @Override
    void addOperations() throws Exception {
        Integer[] keys = new Integer[SIZE];
        Arrays.setAll(keys, i -> i * 7919);
        addLists(keys);
        addMaps(keys);
        addArrays();
        values("stream_map_sum", "elements", ELEMENTS, elements -> {
            List<Integer> list = Arrays.asList(keys).subList(0, elements);
            return i -> list.stream().mapToLong(key -> key + i).sum();
        });
        ArrayDeque<Integer> queue = new ArrayDeque<>(Arrays.asList(keys).subList(0, 16));
        value("array_deque_turn", i -> {
            queue.addLast(keys[(int) i & SIZE - 1]);
            return queue.removeFirst();
        }, i -> keys[(int) i & SIZE - 1]);
    }

    /** A baseline of operations on one of the keys. */
    private static ObjectOperation keyOf(Integer[] keys) {
        return i -> keys[(int) i & SIZE - 1];
    }

    private void addLists(Integer[] keys) throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(keys));
        object("array_list_new", i -> new ArrayList<Integer>());
        object("array_list_get", i -> list.get((int) i & SIZE - 1), keyOf(keys));
        value("array_list_size", i -> {
            list.set((int) i & SIZE - 1, keys[0]);
            return list.size();
        }, i -> {
            list.set((int) i & SIZE - 1, keys[0]);
            return i;
        });
        ArrayList<Integer> growing = new ArrayList<>();
        value("array_list_add", i -> {
            if ((i & SIZE - 1) == 0) {
                growing.clear();
            }
            growing.add(keys[(int) i & SIZE - 1]);
            return i;
        }, i -> (i & SIZE - 1) == 0 || keys[(int) i & SIZE - 1] == null ? 1 : i);
        List<Integer> walked = new ArrayList<>(Arrays.asList(keys));
        List<Iterator<Integer>> walks = new ArrayList<>(List.of(walked.iterator()));
        object("array_list_iterate", i -> {
            Iterator<Integer> walk = walks.get(0);
            if (!walk.hasNext()) {
                walk = walked.iterator();
                walks.set(0, walk);
            }
            return walk.next();
        }, i -> walks.get(0));
        Vector<Integer> vector = new Vector<>(Arrays.asList(keys));
        object("vector_element_at", i -> vector.elementAt((int) i & SIZE - 1), keyOf(keys));
    }

    private void addMaps(Integer[] keys) throws Exception {
        ObjectOperation key = keyOf(keys);
        Map<Integer, Integer> map = new HashMap<>();
        Map<Integer, Integer> tree = new TreeMap<>();
        Map<Integer, Integer> concurrent = new ConcurrentHashMap<>();
        Map<Integer, Integer> table = new Hashtable<>();
        for (Integer each : keys) {
            map.put(each, each);
            tree.put(each, each);
            concurrent.put(each, each);
            table.put(each, each);
        }
        Set<Integer> set = new HashSet<>(map.keySet());
        object("hash_map_new", i -> new HashMap<Integer, Integer>());
        object("hash_map_get", i -> map.get(keys[(int) i & SIZE - 1]), key);
        object("hash_map_put", i -> map.put(keys[(int) i & SIZE - 1], keys[0]), key);
        object("hash_map_insert", i -> {
            Integer inserted = keys[(int) i & SIZE - 1];
            Integer removed = map.remove(inserted);
            map.put(inserted, inserted);
            return removed;
        }, key);
        value("hash_set_contains", i -> set.contains(keys[(int) i & SIZE - 1]) ? 1 : i,
                i -> keys[(int) i & SIZE - 1] == null ? 1 : i);
        object("tree_map_get", i -> tree.get(keys[(int) i & SIZE - 1]), key);
        object("concurrent_map_get", i -> concurrent.get(keys[(int) i & SIZE - 1]), key);
        object("concurrent_map_put", i -> concurrent.put(keys[(int) i & SIZE - 1], keys[0]), key);
        object("hashtable_get", i -> table.get(keys[(int) i & SIZE - 1]), key);
    }

    private void addArrays() throws Exception {
        values("array_copy", "bytes", new int[] {16, 256, 4096}, bytes -> {
            byte[] from = Inputs.prose(2 * bytes);
            byte[] to = new byte[bytes];
            return i -> {
                System.arraycopy(from, (int) i & bytes - 1, to, 0, bytes);
                return to[0];
            };
        });
        objects("array_clone", "elements", ELEMENTS, elements -> {
            int[] array = new int[elements];
            return i -> {
                array[(int) i & elements - 1]++;
                return array.clone();
            };
        }, elements -> {
            int[] array = new int[elements];
            return i -> {
                array[(int) i & elements - 1]++;
                return array;
            };
        });
        values("arrays_fill", "bytes", new int[] {16, 256, 4096}, bytes -> {
            byte[] array = new byte[bytes];
            return i -> {
                Arrays.fill(array, (byte) i);
                return array[(int) i & bytes - 1];
            };
        });
        objects("arrays_sort", "elements", ELEMENTS, elements -> {
            int[] numbers = new Random(elements).ints(elements).toArray();
            return i -> {
                int[] sorted = numbers.clone();
                Arrays.sort(sorted);
                return sorted;
            };
        }, elements -> {
            int[] numbers = new Random(elements).ints(elements).toArray();
            return i -> numbers.clone();
        });
        object("object_new", i -> new Object());
        object("object_get_class", i -> (i & 1) == 0 ? "".getClass() : this.getClass());
    }
}
