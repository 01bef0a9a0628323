import java.util.*;
import java.util.stream.*;

/** Streams, copies and arrays of collections under a monitor. */
class Streams extends MoreCollections {
    static void streamIterator(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Iterator<Box> i = l.stream().iterator();
                return i.hasNext() ? i.next() : null;
            }
        });
    }

    static void streamReduce(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(4);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return l.stream().reduce(0, Integer::sum) == 4;
                }
            });
            b.use();
        });
    }

    static void streamAnyMatch(boolean late) throws Exception {
        Object monitor = new Object();
        Set<String> s = new HashSet<>();
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
                    return s.stream().anyMatch("x"::equals);
                }
            });
            b.use();
        });
    }

    static void streamCount(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(4);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return l.stream().count() == 1;
                }
            });
            b.use();
        });
    }

    static void streamToArray(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Box[] all = l.stream().toArray(Box[]::new);
                return all.length == 0 ? null : all[0];
            }
        });
    }

    static void streamFlatMap(boolean late) throws Exception {
        Object monitor = new Object();
        List<List<Box>> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(List.of(b));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return l.stream().flatMap(List::stream).findFirst().orElse(null);
            }
        });
    }

    static void listToArray(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Object[] all = l.toArray();
                return all.length == 0 ? null : (Box) all[0];
            }
        });
    }

    static void listCopyOf(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                List<Box> copy = List.copyOf(l);
                return copy.isEmpty() ? null : copy.get(0);
            }
        });
    }

    static void copyConstructor(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                List<Box> copy = new LinkedList<>(l);
                return copy.isEmpty() ? null : copy.get(0);
            }
        });
    }

    static void clonedList(boolean late) throws Exception {
        Object monitor = new Object();
        ArrayList<Box> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                ArrayList<?> copy = (ArrayList<?>) l.clone();
                return copy.isEmpty() ? null : (Box) copy.get(0);
            }
        });
    }

    static void arraysAsListSet(boolean late) throws Exception {
        Object monitor = new Object();
        Box[] array = new Box[1];
        List<Box> l = Arrays.asList(array);
        pass(b -> {
            synchronized (monitor) {
                l.set(0, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return array[0];
            }
        });
    }

    static void arrayCopy(boolean late) throws Exception {
        Object monitor = new Object();
        Box[] array = new Box[1];
        pass(b -> {
            synchronized (monitor) {
                System.arraycopy(new Box[] {b}, 0, array, 0, 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return array[0];
            }
        });
    }

    static void arraysSetAll(boolean late) throws Exception {
        Object monitor = new Object();
        int[] array = new int[2];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                Arrays.setAll(array, i -> i + 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return array[1] == 2;
                }
            });
            b.use();
        });
    }

    static void arraysEquals(boolean late) throws Exception {
        Object monitor = new Object();
        int[] array = new int[2];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                array[1] = 1;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return Arrays.equals(array, new int[] {0, 1});
                }
            });
            b.use();
        });
    }

    static void priorityQueueComparator(boolean late) throws Exception {
        Object monitor = new Object();
        PriorityQueue<Box> q = new PriorityQueue<>((x, y) -> Integer.compare(x.value, y.value));
        pass(b -> {
            synchronized (monitor) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return q.peek();
            }
        });
    }

    static void mapReplaceAll(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Integer> m = new HashMap<>(Map.of("k", 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                m.replaceAll((k, v) -> v + 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return m.get("k") == 1;
                }
            });
            b.use();
        });
    }

    static void mapForEach(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Integer> m = new HashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                m.put("k", 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return sum(m) == 1;
                }
            });
            b.use();
        });
    }

    static void mapPutAll(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Box> m = new HashMap<>();
        pass(b -> {
            synchronized (monitor) {
                m.putAll(Map.of("k", b));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return m.get("k");
            }
        });
    }

    static void enumSetAdd(boolean late) throws Exception {
        Object monitor = new Object();
        EnumSet<Thread.State> s = EnumSet.noneOf(Thread.State.class);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.add(Thread.State.NEW);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return s.contains(Thread.State.NEW);
                }
            });
            b.use();
        });
    }

    static void propertiesInMonitor(boolean late) throws Exception {
        Object monitor = new Object();
        Properties p = new Properties();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                p.setProperty("k", "v");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return "v".equals(p.getProperty("k"));
                }
            });
            b.use();
        });
    }

    static void propertiesDefaults(boolean late) throws Exception {
        Properties base = new Properties();
        Properties p = new Properties(base);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            base.setProperty("k", "v");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> p.getProperty("k") != null);
            b.use();
        });
    }

    static void scannerOfString(boolean late) throws Exception {
        Object monitor = new Object();
        StringBuilder text = new StringBuilder();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                text.append("12");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return new Scanner(text.toString()).hasNextInt();
                }
            });
            b.use();
        });
    }

    static void randomSeed(boolean late) throws Exception {
        Object monitor = new Object();
        Random r = new Random(1);
        int[] drawn = new int[1];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                r.setSeed(42);
                drawn[0] = 1;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return drawn[0] == 1 && r.nextInt() != 0;
                }
            });
            b.use();
        });
    }

    static void optionalInMonitor(boolean late) throws Exception {
        Object monitor = new Object();
        List<Optional<Box>> l = new ArrayList<>();
        pass(b -> {
            synchronized (monitor) {
                l.add(Optional.of(b));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return l.isEmpty() ? null : l.get(0).map(x -> x).orElse(null);
            }
        });
    }
}
