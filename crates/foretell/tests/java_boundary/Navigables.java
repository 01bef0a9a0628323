import java.util.*;
import java.util.stream.*;

/** Sorted, linked and checked collections under a monitor. */
class Navigables extends MoreCollections {
    static void arrayDequeAsStack(boolean late) throws Exception {
        Object monitor = new Object();
        Deque<Box> d = new ArrayDeque<>();
        pass(b -> {
            synchronized (monitor) {
                d.push(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return d.isEmpty() ? null : d.pop();
            }
        });
    }

    static void descendingIterator(boolean late) throws Exception {
        Object monitor = new Object();
        ArrayDeque<Box> d = new ArrayDeque<>();
        pass(b -> {
            synchronized (monitor) {
                d.offerLast(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Iterator<Box> i = d.descendingIterator();
                return i.hasNext() ? i.next() : null;
            }
        });
    }

    static void linkedListIndex(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new LinkedList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(0, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return l.size() > 0 ? l.remove(l.size() - 1) : null;
            }
        });
    }

    static void navigableFloor(boolean late) throws Exception {
        Object monitor = new Object();
        NavigableMap<Integer, Box> m = new TreeMap<>();
        pass(b -> {
            synchronized (monitor) {
                m.put(3, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Map.Entry<Integer, Box> e = m.floorEntry(9);
                return e == null ? null : e.getValue();
            }
        });
    }

    static void pollFirstEntry(boolean late) throws Exception {
        Object monitor = new Object();
        TreeMap<String, Box> m = new TreeMap<>(Comparator.reverseOrder());
        pass(b -> {
            synchronized (monitor) {
                m.put("k", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Map.Entry<String, Box> e = m.pollFirstEntry();
                return e == null ? null : e.getValue();
            }
        });
    }

    static void subMapView(boolean late) throws Exception {
        Object monitor = new Object();
        TreeMap<Integer, Box> m = new TreeMap<>();
        SortedMap<Integer, Box> view = m.subMap(1, 5);
        pass(b -> {
            synchronized (monitor) {
                view.put(2, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return m.get(2);
            }
        });
    }

    static void tailMapView(boolean late) throws Exception {
        Object monitor = new Object();
        TreeMap<Integer, Box> m = new TreeMap<>();
        SortedMap<Integer, Box> view = m.tailMap(1);
        pass(b -> {
            synchronized (monitor) {
                m.put(2, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return view.isEmpty() ? null : view.get(view.lastKey());
            }
        });
    }

    static void descendingMapView(boolean late) throws Exception {
        Object monitor = new Object();
        TreeMap<Integer, Box> m = new TreeMap<>();
        NavigableMap<Integer, Box> view = m.descendingMap();
        pass(b -> {
            synchronized (monitor) {
                m.put(2, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return view.getOrDefault(2, null);
            }
        });
    }

    static void treeSetPollFirst(boolean late) throws Exception {
        Object monitor = new Object();
        TreeSet<String> s = new TreeSet<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return s.pollFirst() != null;
                }
            });
            b.use();
        });
    }

    static void treeSetHigher(boolean late) throws Exception {
        Object monitor = new Object();
        NavigableSet<Integer> s = new TreeSet<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.add(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return s.higher(1) != null;
                }
            });
            b.use();
        });
    }

    static void navigableKeySet(boolean late) throws Exception {
        Object monitor = new Object();
        TreeMap<Integer, String> m = new TreeMap<>();
        Set<Integer> keys = m.navigableKeySet();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                m.put(1, "a");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return keys.contains(1);
                }
            });
            b.use();
        });
    }

    static void bitSetCardinality(boolean late) throws Exception {
        Object monitor = new Object();
        BitSet bits = new BitSet();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                bits.set(70);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return bits.cardinality() > 0;
                }
            });
            b.use();
        });
    }

    static void bitSetStream(boolean late) throws Exception {
        Object monitor = new Object();
        BitSet bits = new BitSet();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                bits.flip(3);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return bits.stream().sum() == 3;
                }
            });
            b.use();
        });
    }

    static void checkedList(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = Collections.checkedList(new ArrayList<>(), Box.class);
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return l.isEmpty() ? null : l.get(0);
            }
        });
    }

    static void checkedMap(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Box> m = Collections.checkedMap(new HashMap<>(), String.class, Box.class);
        pass(b -> {
            synchronized (monitor) {
                m.put("k", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return m.remove("k");
            }
        });
    }

    static void lifoQueue(boolean late) throws Exception {
        Object monitor = new Object();
        Queue<Box> q = Collections.asLifoQueue(new ArrayDeque<>());
        pass(b -> {
            synchronized (monitor) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return q.poll();
            }
        });
    }

    static void setFromMap(boolean late) throws Exception {
        Object monitor = new Object();
        Set<String> s = Collections.newSetFromMap(new IdentityHashMap<>());
        String key = "key";
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.add(key);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return s.contains(key);
                }
            });
            b.use();
        });
    }

    static void unmodifiableMapView(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Box> m = new HashMap<>();
        Map<String, Box> view = Collections.unmodifiableMap(m);
        pass(b -> {
            synchronized (monitor) {
                m.put("k", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return view.get("k");
            }
        });
    }

    static void synchronizedSetIterator(boolean late) throws Exception {
        Set<Box> s = Collections.synchronizedSet(new LinkedHashSet<>());
        pass(b -> {
            s.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (s) {
                Iterator<Box> i = s.iterator();
                return i.hasNext() ? i.next() : null;
            }
        });
    }

    static void synchronizedSortedMap(boolean late) throws Exception {
        SortedMap<String, Box> m = Collections.synchronizedSortedMap(new TreeMap<>());
        pass(b -> {
            m.put("k", b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return m.getOrDefault("k", null);
        });
    }

    static void synchronizedCollectionStream(boolean late) throws Exception {
        Collection<Box> c = Collections.synchronizedCollection(new ArrayList<>());
        pass(b -> {
            c.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (c) {
                return c.stream().findAny().orElse(null);
            }
        });
    }

    static void collectionsAddAll(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                Collections.addAll(l, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return l.isEmpty() ? null : l.remove(0);
            }
        });
    }

    static void collectionsMax(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>(List.of(1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(9);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return Collections.max(l) == 9;
                }
            });
            b.use();
        });
    }

    static void collectionsFrequency(boolean late) throws Exception {
        Object monitor = new Object();
        List<String> l = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return Collections.frequency(l, "x") == 1;
                }
            });
            b.use();
        });
    }

    static void collectionsEmptyCheck(boolean late) throws Exception {
        Object monitor = new Object();
        List<String> l = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return !l.equals(Collections.emptyList());
                }
            });
            b.use();
        });
    }
}
