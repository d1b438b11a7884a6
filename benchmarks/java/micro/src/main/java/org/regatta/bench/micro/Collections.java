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
    private static final int[] CHARS = {4, 16, 64};
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
        for (Integer each : keys) {
            map.put(each, each);
            tree.put(each, each);
        }
        object("hash_map_new", i -> new HashMap<Integer, Integer>());
        object("hash_map_insert", i -> {
            Integer inserted = keys[(int) i & SIZE - 1];
            Integer removed = map.remove(inserted);
            map.put(inserted, inserted);
            return removed;
        }, key);
        object("tree_map_get", i -> tree.get(keys[(int) i & SIZE - 1]), key);
        addLookups("hash_map_get", chars -> filled(new HashMap<>(), chars)::get);
        addLookups("hash_map_put", chars -> putting(filled(new HashMap<>(), chars)));
        addLookups("hash_set_contains", chars -> {
            Set<Object> set = new HashSet<>(filled(new HashMap<>(), chars).keySet());
            return text -> set.contains(text) ? text : null;
        });
        addLookups("concurrent_map_get", chars -> filled(new ConcurrentHashMap<>(), chars)::get);
        addLookups("concurrent_map_put", chars -> putting(filled(new ConcurrentHashMap<>(), chars)));
        addLookups("hashtable_get", chars -> filled(new Hashtable<>(), chars)::get);
    }

    /** A use of a map with a key. */
    private interface Lookup {
        Object of(String key);
    }

    /** Looks up texts that are new objects: their hash is not known yet, and all of their characters are compared. */
    private void addLookups(String name, OfAmount<Lookup> lookups) throws Exception {
        objects(name, "chars", CHARS, chars -> {
            char[][] texts = texts(chars);
            Lookup lookup = lookups.of(chars);
            Object[] made = new Object[1];
            return i -> {
                String key = new String(texts[(int) i & SIZE - 1]);
                made[0] = key;
                return lookup.of(key);
            };
        }, chars -> {
            char[][] texts = texts(chars);
            Object[] made = new Object[1];
            return i -> {
                String key = new String(texts[(int) i & SIZE - 1]);
                made[0] = key;
                return key;
            };
        });
    }

    private static char[][] texts(int chars) {
        String[] words = Inputs.words(chars, SIZE);
        char[][] texts = new char[SIZE][];
        Arrays.setAll(texts, i -> words[i].toCharArray());
        return texts;
    }

    private static Map<Object, Object> filled(Map<Object, Object> map, int chars) {
        for (String word : Inputs.words(chars, SIZE)) {
            map.put(word, word);
        }
        return map;
    }

    private static Lookup putting(Map<Object, Object> map) {
        return key -> map.put(key, key);
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
        objects("array_clone", "bytes", new int[] {64, 512, 4096}, bytes -> {
            int[] array = new int[bytes / Integer.BYTES];
            return i -> {
                array[(int) i & array.length - 1]++;
                return array.clone();
            };
        }, bytes -> {
            int[] array = new int[bytes / Integer.BYTES];
            return i -> {
                array[(int) i & array.length - 1]++;
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
