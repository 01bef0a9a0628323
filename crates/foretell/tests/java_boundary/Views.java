import java.lang.ref.WeakReference;
import java.util.*;
import java.util.function.*;
import java.util.stream.Collectors;

/** Iterators, views, streams, lambdas and method references of collections under a monitor. */
public class Views extends Handover {
    private Views() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("iterator", Views::iterator)
            .run("iteratorRemove", Views::iteratorRemove)
            .run("listIteratorAdd", Views::listIteratorAdd)
            .run("subListView", Views::subListView)
            .run("entrySetView", Views::entrySetView)
            .run("entrySetValue", Views::entrySetValue)
            .run("keySetView", Views::keySetView)
            .run("valuesView", Views::valuesView)
            .run("headMapView", Views::headMapView)
            .run("descendingView", Views::descendingView)
            .run("unmodifiableView", Views::unmodifiableView)
            .run("asListOfArray", Views::asListOfArray)
            .run("enumeration", Views::enumeration)
            .run("streamFindFirst", Views::streamFindFirst)
            .run("streamFilter", Views::streamFilter)
            .run("streamCollect", Views::streamCollect)
            .run("forEachLambda", Views::forEachLambda)
            .run("removeIfLambda", Views::removeIfLambda)
            .run("replaceAllLambda", Views::replaceAllLambda)
            .run("spliterator", Views::spliterator)
            .run("methodReferenceAdd", Views::methodReferenceAdd)
            .run("methodReferencePoll", Views::methodReferencePoll)
            .run("unboundMethodReference", Views::unboundMethodReference)
            .run("constructorReference", Views::constructorReference)
            .run("objectTyped", Views::objectTyped)
            .run("nestedCollections", Views::nestedCollections)
            .run("ownSubclass", Views::ownSubclass)
            .run("optionalField", Views::optionalField)
            .run("referenceInArray", Views::referenceInArray)
            .run("arrayFill", Views::arrayFill)
            .run("arrayClone", Views::arrayClone)
            .run("weakReference", Views::weakReference);
    }

    /** A list of the program's own: its methods run code of the platform. */
    static final class OwnList extends ArrayList<Box> {
        Box first() {
            return isEmpty() ? null : get(0);
        }
    }

    static void iterator(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Iterator<Box> i = q.iterator();
                return i.hasNext() ? i.next() : null;
            }
        }));
    }

    static void iteratorRemove(boolean late) throws Exception {
        List<Box> q = new LinkedList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Iterator<Box> i = q.iterator();
                if (!i.hasNext()) {
                    return null;
                }
                Box box = i.next();
                i.remove();
                return box;
            }
        }));
    }

    static void listIteratorAdd(boolean late) throws Exception {
        List<Box> q = new LinkedList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.listIterator().add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0);
            }
        }));
    }

    static void subListView(boolean late) throws Exception {
        List<Box> q = new ArrayList<>(Arrays.asList((Box) null, null));
        List<Box> view = q.subList(1, 2);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                view.set(0, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(1);
            }
        }));
    }

    static void entrySetView(boolean late) throws Exception {
        Map<String, Box> q = new HashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                for (Map.Entry<String, Box> e : q.entrySet()) {
                    return e.getValue();
                }
                return null;
            }
        }));
    }

    static void entrySetValue(boolean late) throws Exception {
        Map<String, Box> q = new HashMap<>();
        q.put("box", null);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                for (Map.Entry<String, Box> e : q.entrySet()) {
                    e.setValue(b);
                }
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("box");
            }
        }));
    }

    static void keySetView(boolean late) throws Exception {
        Map<Box, String> q = new IdentityHashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put(b, "");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                for (Box box : q.keySet()) {
                    return box;
                }
                return null;
            }
        }));
    }

    static void valuesView(boolean late) throws Exception {
        Map<String, Box> q = new TreeMap<>();
        Collection<Box> values = q.values();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return values.isEmpty() ? null : values.iterator().next();
            }
        }));
    }

    static void headMapView(boolean late) throws Exception {
        TreeMap<String, Box> q = new TreeMap<>();
        SortedMap<String, Box> view = q.headMap("z");
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return view.get("box");
            }
        }));
    }

    static void descendingView(boolean late) throws Exception {
        ArrayDeque<Box> q = new ArrayDeque<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Iterator<Box> i = q.descendingIterator();
                return i.hasNext() ? i.next() : null;
            }
        }));
    }

    static void unmodifiableView(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        List<Box> view = Collections.unmodifiableList(q);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return view.isEmpty() ? null : view.get(0);
            }
        }));
    }

    static void asListOfArray(boolean late) throws Exception {
        Box[] q = new Box[1];
        List<Box> view = Arrays.asList(q);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                view.set(0, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return view.get(0);
            }
        }));
    }

    static void enumeration(boolean late) throws Exception {
        Vector<Box> q = new Vector<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.addElement(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Enumeration<Box> e = q.elements();
                return e.hasMoreElements() ? e.nextElement() : null;
            }
        }));
    }

    static void streamFindFirst(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.stream().findFirst().orElse(null);
            }
        }));
    }

    static void streamFilter(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.stream().filter(Objects::nonNull).limit(1).reduce(null, (x, y) -> y);
            }
        }));
    }

    static void streamCollect(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                List<Box> all = q.stream().collect(Collectors.toList());
                return all.isEmpty() ? null : all.get(0);
            }
        }));
    }

    static void forEachLambda(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Box[] found = new Box[1];
                q.forEach(box -> found[0] = box);
                return found[0];
            }
        }));
    }

    static void removeIfLambda(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Box[] found = new Box[1];
                q.removeIf(box -> {
                    found[0] = box;
                    return true;
                });
                return found[0];
            }
        }));
    }

    static void replaceAllLambda(boolean late) throws Exception {
        List<Box> q = new ArrayList<>(Collections.singletonList((Box) null));
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.replaceAll(old -> b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(0);
            }
        }));
    }

    static void spliterator(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                Box[] found = new Box[1];
                q.spliterator().tryAdvance(box -> found[0] = box);
                return found[0];
            }
        }));
    }

    static void methodReferenceAdd(boolean late) throws Exception {
        List<Box> q = new ArrayList<>();
        Consumer<Box> add = q::add;
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                add.accept(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0);
            }
        }));
    }

    static void methodReferencePoll(boolean late) throws Exception {
        Queue<Box> q = new LinkedList<>();
        Supplier<Box> poll = q::poll;
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return poll.get();
            }
        }));
    }

    static void unboundMethodReference(boolean late) throws Exception {
        Queue<Box> q = new LinkedList<>();
        BiPredicate<Queue<Box>, Box> add = Queue::add;
        Function<Queue<Box>, Box> poll = Queue::poll;
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                add.test(q, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return poll.apply(q);
            }
        }));
    }

    static void constructorReference(boolean late) throws Exception {
        List<List<Box>> q = new ArrayList<>();
        Supplier<List<Box>> make = ArrayList::new;
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                List<Box> inner = make.get();
                inner.add(b);
                q.add(inner);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0).get(0);
            }
        }));
    }

    static void objectTyped(boolean late) throws Exception {
        Object q = new ArrayDeque<Box>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                ((ArrayDeque<Box>) q).add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return ((Deque<Box>) q).poll();
            }
        }));
    }

    static void nestedCollections(boolean late) throws Exception {
        Map<String, List<Box>> q = new HashMap<>();
        q.put("list", new ArrayList<>());
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.get("list").add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("list").isEmpty() ? null : q.get("list").get(0);
            }
        }));
    }

    static void ownSubclass(boolean late) throws Exception {
        OwnList q = new OwnList();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.first();
            }
        }));
    }

    static void optionalField(boolean late) throws Exception {
        List<Optional<Box>> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(Optional.of(b));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0).get();
            }
        }));
    }

    static void referenceInArray(boolean late) throws Exception {
        Box[] q = new Box[2];
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                System.arraycopy(new Box[] {b}, 0, q, 1, 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q[1];
            }
        }));
    }

    static void arrayFill(boolean late) throws Exception {
        Box[] q = new Box[2];
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                Arrays.fill(q, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return Arrays.asList(q).get(1);
            }
        }));
    }

    static void arrayClone(boolean late) throws Exception {
        Box[] q = new Box[1];
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q[0] = b;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.clone()[0];
            }
        }));
    }

    static void weakReference(boolean late) throws Exception {
        List<WeakReference<Box>> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(new WeakReference<>(b));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0).get();
            }
        }));
    }
}
