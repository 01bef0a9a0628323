import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Concurrent maps by key, as a whole and through views. */
class ConcurrentMaps extends MoreConcurrent {
    static void mapTwoKeys(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.put("other", new Box());
            m.put("k", b);
            if (late) {
                b.value = 7;
            }
        }, () -> m.get("k"));
    }

    static void mapSize(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.size() == 1);
            b.use();
        });
    }

    static void mapIsEmpty(boolean late) throws Exception {
        Map<Integer, Integer> m = new ConcurrentSkipListMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put(1, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> !m.isEmpty());
            b.use();
        });
    }

    static void mapMappingCount(boolean late) throws Exception {
        ConcurrentHashMap<Integer, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put(1, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.mappingCount() == 1);
            b.use();
        });
    }

    static void mapClear(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.clear();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.get("k") == null);
            b.use();
        });
    }

    static void mapClearSize(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.clear();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.size() == 0);
            b.use();
        });
    }

    static void mapPutAll(boolean late) throws Exception {
        Map<String, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.putAll(Map.of("k", b));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return m.get("k");
        });
    }

    static void mapRemoveTwo(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.remove("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> !m.containsKey("k"));
            b.use();
        });
    }

    static void mapReplaceThree(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.replace("k", 1, 2);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.get("k") == 2);
            b.use();
        });
    }

    static void mapPutIfAbsentFails(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.containsKey("k") && m.putIfAbsent("k", 2) != null);
            b.use();
        });
    }

    static void mapComputePresent(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.compute("k", (k, v) -> v + 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.computeIfPresent("k", (k, v) -> v) == 1);
            b.use();
        });
    }

    static void mapComputeReads(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean[] done = new boolean[1];
            until(() -> {
                m.compute("k", (k, v) -> {
                    if (v == 1) {
                        b.use();
                        done[0] = true;
                    }
                    return v;
                });
                return done[0];
            });
        });
    }

    static void mapMergeReads(boolean late) throws Exception {
        ConcurrentMap<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean[] done = new boolean[1];
            until(() -> {
                m.merge("k", 0, (old, zero) -> {
                    if (old == 1 && !done[0]) {
                        b.use();
                        done[0] = true;
                    }
                    return old;
                });
                return done[0];
            });
        });
    }

    static void mapComputeIfAbsentOnce(boolean late) throws Exception {
        ConcurrentMap<String, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.computeIfAbsent("k", k -> b);
            if (late) {
                b.value = 7;
            }
        }, () -> m.computeIfPresent("k", (k, v) -> v));
    }

    static void mapKeysOwnClass(boolean late) throws Exception {
        record Point(int x, int y) {
        }
        ConcurrentMap<Point, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.put(new Point(0, 0), new Box());
            m.put(new Point(1, 2), b);
            if (late) {
                b.value = 7;
            }
        }, () -> m.get(new Point(1, 2)));
    }

    static void mapKeySetIterator(boolean late) throws Exception {
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.keySet().iterator().hasNext());
            b.use();
        });
    }

    static void mapEntrySetStream(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.put("k", b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return m.entrySet().stream().map(Map.Entry::getValue).findFirst().orElse(null);
        });
    }

    static void mapValuesContains(boolean late) throws Exception {
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.values().contains(1));
            b.use();
        });
    }

    static void mapForEachParallel(boolean late) throws Exception {
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.reduceValues(1, Integer::sum) != null);
            b.use();
        });
    }

    static void mapToString(boolean late) throws Exception {
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.toString().equals("{k=1}"));
            b.use();
        });
    }

    static void mapConcatenated(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> ("map " + m).contains("k"));
            b.use();
        });
    }

    static void mapEquals(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> Map.of("k", 1).equals(m));
            b.use();
        });
    }

    static void mapEntrySetValue(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.entrySet().iterator().next().setValue(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.get("k") == 1);
            b.use();
        });
    }

    static void mapValuesRemove(boolean late) throws Exception {
        Map<String, Integer> m = new ConcurrentHashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.values().remove(0);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.get("k") == null);
            b.use();
        });
    }

    static void mapCopied(boolean late) throws Exception {
        Map<String, Box> m = new ConcurrentHashMap<>();
        pass(b -> {
            m.put("k", b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return new HashMap<>(m).get("k");
        });
    }

    static void mapEnumeration(boolean late) throws Exception {
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            m.put("k", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> m.keys().hasMoreElements());
            b.use();
        });
    }

    static void skipListFirst(boolean late) throws Exception {
        ConcurrentNavigableMap<Integer, Box> m = new ConcurrentSkipListMap<>();
        pass(b -> {
            m.put(1, b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Map.Entry<Integer, Box> e = m.pollFirstEntry();
            return e == null ? null : e.getValue();
        });
    }

    static void skipListComparator(boolean late) throws Exception {
        ConcurrentSkipListMap<String, Box> m =
            new ConcurrentSkipListMap<>(String.CASE_INSENSITIVE_ORDER);
        pass(b -> {
            m.put("K", b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return m.get("k");
        });
    }

    static void skipListHeadMap(boolean late) throws Exception {
        ConcurrentSkipListMap<Integer, Box> m = new ConcurrentSkipListMap<>();
        Map<Integer, Box> view = m.headMap(5);
        pass(b -> {
            view.put(1, b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return m.get(1);
        });
    }

    static void skipSetCeiling(boolean late) throws Exception {
        ConcurrentSkipListSet<Integer> s = new ConcurrentSkipListSet<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.add(4);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> s.ceiling(2) != null);
            b.use();
        });
    }

    static void copyOnWriteIterator(boolean late) throws Exception {
        List<Box> l = new CopyOnWriteArrayList<>();
        pass(b -> {
            l.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            ListIterator<Box> i = l.listIterator();
            return i.hasNext() ? i.next() : null;
        });
    }

    static void copyOnWriteIfAbsent(boolean late) throws Exception {
        CopyOnWriteArrayList<String> l = new CopyOnWriteArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            l.addIfAbsent("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> l.indexOf("x") == 0);
            b.use();
        });
    }

    static void concurrentDequeFirst(boolean late) throws Exception {
        ConcurrentLinkedDeque<Box> d = new ConcurrentLinkedDeque<>();
        pass(b -> {
            d.addFirst(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return d.peekLast();
        });
    }
}
