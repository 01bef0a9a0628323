import java.util.*;
import java.util.stream.*;

/** Texts and comparisons of collections under a monitor. */
class Descriptions extends MoreCollections {
    static void listToString(boolean late) throws Exception {
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
                    return l.toString().equals("[x]");
                }
            });
            b.use();
        });
    }

    static void listConcatenated(boolean late) throws Exception {
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
                    return ("" + l).length() > 2;
                }
            });
            b.use();
        });
    }

    static void nestedDescribed(boolean late) throws Exception {
        Object monitor = new Object();
        List<String> inner = new ArrayList<>();
        List<List<String>> outer = new ArrayList<>();
        outer.add(inner);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                inner.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return outer.toString().contains("x");
                }
            });
            b.use();
        });
    }

    static void nestedEquals(boolean late) throws Exception {
        Object monitor = new Object();
        List<String> inner = new ArrayList<>();
        Map<String, List<String>> outer = new HashMap<>();
        outer.put("k", inner);
        Map<String, List<String>> wanted = Map.of("k", List.of("x"));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                inner.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return outer.equals(wanted);
                }
            });
            b.use();
        });
    }

    static void stringFormat(boolean late) throws Exception {
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
                    return String.format("%s", l).contains("x");
                }
            });
            b.use();
        });
    }

    static void stringJoin(boolean late) throws Exception {
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
                    return String.join(",", l).equals("x");
                }
            });
            b.use();
        });
    }

    static void objectsHash(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>();
        int before = Objects.hash(l);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return Objects.hash(l) != before;
                }
            });
            b.use();
        });
    }

    static void listHashCode(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>();
        int before = l.hashCode();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return l.hashCode() != before;
                }
            });
            b.use();
        });
    }

    static void listEquals(boolean late) throws Exception {
        Object monitor = new Object();
        List<Integer> l = new ArrayList<>();
        List<Integer> wanted = List.of(5);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                l.add(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return wanted.equals(l);
                }
            });
            b.use();
        });
    }

    static void stringJoiner(boolean late) throws Exception {
        Object monitor = new Object();
        StringJoiner j = new StringJoiner(",");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                j.add("x");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return j.length() > 0;
                }
            });
            b.use();
        });
    }

    static void stringBuilderLength(boolean late) throws Exception {
        Object monitor = new Object();
        StringBuilder s = new StringBuilder();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.append(1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return s.length() == 1;
                }
            });
            b.use();
        });
    }

    static void charSequenceTyped(boolean late) throws Exception {
        Object monitor = new Object();
        StringBuilder s = new StringBuilder();
        CharSequence view = s;
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.append("yes");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return view.length() == 3;
                }
            });
            b.use();
        });
    }

    static void stringContentEquals(boolean late) throws Exception {
        Object monitor = new Object();
        StringBuilder s = new StringBuilder();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                s.append("yes");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return "yes".contentEquals(s);
                }
            });
            b.use();
        });
    }

    static void stringBufferDeleted(boolean late) throws Exception {
        StringBuffer s = new StringBuffer("no");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.delete(0, 2);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> s.length() == 0);
            b.use();
        });
    }

    static void abstractListOwn(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> base = new ArrayList<>();
        List<Box> view = new AbstractList<Box>() {
            @Override
            public Box get(int i) {
                return base.get(i);
            }

            @Override
            public int size() {
                return base.size();
            }
        };
        pass(b -> {
            synchronized (monitor) {
                base.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                Iterator<Box> i = view.iterator();
                return i.hasNext() ? i.next() : null;
            }
        });
    }

    static void removeEldest(boolean late) throws Exception {
        Object monitor = new Object();
        Map<Integer, Integer> m = new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Integer, Integer> e) {
                return size() > 1;
            }
        };
        m.put(0, 0);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                m.put(1, 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return !m.containsKey(0);
                }
            });
            b.use();
        });
    }

    static void entrySetStream(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, Box> m = new HashMap<>();
        pass(b -> {
            synchronized (monitor) {
                m.put("k", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return m.entrySet().stream().map(Map.Entry::getValue).findFirst().orElse(null);
            }
        });
    }
}
