import java.util.*;

/** Containers of java.util under a monitor. */
final class Containers extends Scenario {
    private static int next;

    enum Key { ONE, TWO }

    public static void main(String[] args) throws Exception {
        bug = args[1].equals("bug");
        switch (args[0]) {
            case "linkedList" -> {
                LinkedList<Item> box = new LinkedList<>();
                itemsLocked(box::add, box::poll);
            }
            case "arrayList" -> {
                List<Item> box = new ArrayList<>();
                itemsLocked(box::add, () -> box.isEmpty() ? null : box.remove(box.size() - 1));
            }
            case "arrayDeque" -> {
                Deque<Item> box = new ArrayDeque<>();
                itemsLocked(box::push, box::poll);
            }
            case "hashMap" -> {
                Map<Integer, Item> box = new HashMap<>();
                itemsLocked(i -> box.put(next++, i), () -> {
                    Iterator<Item> items = box.values().iterator();
                    if (!items.hasNext()) return null;
                    Item item = items.next();
                    items.remove();
                    return item;
                });
            }
            case "treeMap" -> {
                TreeMap<String, Item> box = new TreeMap<>();
                itemsLocked(i -> box.put("key" + next++, i), () -> {
                    Map.Entry<String, Item> entry = box.pollFirstEntry();
                    return entry == null ? null : entry.getValue();
                });
            }
            case "hashSet" -> {
                Set<Item> box = new HashSet<>();
                itemsLocked(box::add, () -> {
                    for (Item item : box) {
                        box.remove(item);
                        return item;
                    }
                    return null;
                });
            }
            case "linkedHashMap" -> {
                Map<String, Item> box = new LinkedHashMap<>();
                itemsLocked(i -> box.put("key" + next++, i), () -> {
                    for (String key : box.keySet()) return box.remove(key);
                    return null;
                });
            }
            case "priorityQueue" -> {
                Queue<Item> box = new PriorityQueue<>((a, b) -> 0);
                itemsLocked(box::add, box::poll);
            }
            case "vector" -> {
                Stack<Item> box = new Stack<>();
                items(box::push, () -> box.empty() ? null : box.pop());
            }
            case "hashtable" -> {
                Hashtable<String, Object> box = new Hashtable<>();
                poll(() -> box.put("key", ""), () -> box.containsKey("key"));
            }
            case "identityHashMap" -> {
                Map<Object, Object> box = new IdentityHashMap<>();
                pollLocked(() -> box.put(lock, ""), () -> box.get(lock) != null);
            }
            case "enumMap" -> {
                Map<Key, String> box = new EnumMap<>(Key.class);
                pollLocked(() -> box.put(Key.TWO, ""), () -> box.containsKey(Key.TWO));
            }
            case "bitSet" -> {
                BitSet box = new BitSet();
                pollLocked(() -> box.set(7), () -> box.get(7));
            }
            case "stringBuilder" -> {
                StringBuilder box = new StringBuilder();
                pollLocked(() -> box.append("text"), () -> box.length() > 0);
            }
            case "stringBuffer" -> {
                StringBuffer box = new StringBuffer();
                poll(() -> box.append("text"), () -> box.length() > 0);
            }
            case "subList" -> {
                List<String> whole = new ArrayList<>(List.of("a", "b", "c"));
                List<String> view = whole.subList(1, 2);
                pollLocked(() -> view.set(0, "x"), () -> whole.get(1).equals("x"));
            }
            case "keySetView" -> {
                Map<String, String> box = new HashMap<>();
                Set<String> keys = box.keySet();
                pollLocked(() -> box.put("key", ""), () -> keys.contains("key"));
            }
            case "stream" -> {
                List<Integer> box = new ArrayList<>();
                pollLocked(() -> box.add(3), () -> box.stream().mapToInt(Integer::intValue).sum() == 3);
            }
            case "synchronizedList" -> {
                List<Item> box = Collections.synchronizedList(new ArrayList<>());
                items(box::add, () -> box.isEmpty() ? null : box.remove(0));
            }
            case "synchronizedMap" -> {
                Map<String, String> box = Collections.synchronizedMap(new HashMap<>());
                poll(() -> box.put("key", ""), () -> box.get("key") != null);
            }
            case "optionalInField" -> {
                Object[] box = {Optional.empty()};
                pollLocked(() -> box[0] = Optional.of("x"), () -> ((Optional<?>) box[0]).isPresent());
            }
            case "arrayAsList" -> {
                Item[] array = new Item[1];
                List<Item> box = Arrays.asList(array);
                pollLocked(() -> box.set(0, new Item()), () -> box.get(0) != null);
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        end(args[1]);
    }
}
