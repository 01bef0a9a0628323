import java.util.*;
import java.util.stream.*;

/** Classes of java.util under a monitor, by less usual methods and views. */
public class MoreCollections extends Handover {
    MoreCollections() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("arrayDequeAsStack", Navigables::arrayDequeAsStack)
            .run("descendingIterator", Navigables::descendingIterator)
            .run("linkedListIndex", Navigables::linkedListIndex)
            .run("navigableFloor", Navigables::navigableFloor)
            .run("pollFirstEntry", Navigables::pollFirstEntry)
            .run("subMapView", Navigables::subMapView)
            .run("tailMapView", Navigables::tailMapView)
            .run("descendingMapView", Navigables::descendingMapView)
            .run("treeSetPollFirst", Navigables::treeSetPollFirst)
            .run("treeSetHigher", Navigables::treeSetHigher)
            .run("navigableKeySet", Navigables::navigableKeySet)
            .run("bitSetCardinality", Navigables::bitSetCardinality)
            .run("bitSetStream", Navigables::bitSetStream)
            .run("checkedList", Navigables::checkedList)
            .run("checkedMap", Navigables::checkedMap)
            .run("lifoQueue", Navigables::lifoQueue)
            .run("setFromMap", Navigables::setFromMap)
            .run("unmodifiableMapView", Navigables::unmodifiableMapView)
            .run("synchronizedSetIterator", Navigables::synchronizedSetIterator)
            .run("synchronizedSortedMap", Navigables::synchronizedSortedMap)
            .run("synchronizedCollectionStream", Navigables::synchronizedCollectionStream)
            .run("collectionsAddAll", Navigables::collectionsAddAll)
            .run("collectionsMax", Navigables::collectionsMax)
            .run("collectionsFrequency", Navigables::collectionsFrequency)
            .run("collectionsEmptyCheck", Navigables::collectionsEmptyCheck)
            .run("listToString", Descriptions::listToString)
            .run("listConcatenated", Descriptions::listConcatenated)
            .run("nestedDescribed", Descriptions::nestedDescribed)
            .run("nestedEquals", Descriptions::nestedEquals)
            .run("stringFormat", Descriptions::stringFormat)
            .run("stringJoin", Descriptions::stringJoin)
            .run("objectsHash", Descriptions::objectsHash)
            .run("listHashCode", Descriptions::listHashCode)
            .run("listEquals", Descriptions::listEquals)
            .run("stringJoiner", Descriptions::stringJoiner)
            .run("stringBuilderLength", Descriptions::stringBuilderLength)
            .run("charSequenceTyped", Descriptions::charSequenceTyped)
            .run("stringContentEquals", Descriptions::stringContentEquals)
            .run("stringBufferDeleted", Descriptions::stringBufferDeleted)
            .run("abstractListOwn", Descriptions::abstractListOwn)
            .run("removeEldest", Descriptions::removeEldest)
            .run("entrySetStream", Descriptions::entrySetStream)
            .run("streamIterator", Streams::streamIterator)
            .run("streamReduce", Streams::streamReduce)
            .run("streamAnyMatch", Streams::streamAnyMatch)
            .run("streamCount", Streams::streamCount)
            .run("streamToArray", Streams::streamToArray)
            .run("streamFlatMap", Streams::streamFlatMap)
            .run("listToArray", Streams::listToArray)
            .run("listCopyOf", Streams::listCopyOf)
            .run("copyConstructor", Streams::copyConstructor)
            .run("clonedList", Streams::clonedList)
            .run("arraysAsListSet", Streams::arraysAsListSet)
            .run("arrayCopy", Streams::arrayCopy)
            .run("arraysSetAll", Streams::arraysSetAll)
            .run("arraysEquals", Streams::arraysEquals)
            .run("priorityQueueComparator", Streams::priorityQueueComparator)
            .run("mapReplaceAll", Streams::mapReplaceAll)
            .run("mapForEach", Streams::mapForEach)
            .run("mapPutAll", Streams::mapPutAll)
            .run("enumSetAdd", Streams::enumSetAdd)
            .run("propertiesInMonitor", Streams::propertiesInMonitor)
            .run("propertiesDefaults", Streams::propertiesDefaults)
            .run("scannerOfString", Streams::scannerOfString)
            .run("randomSeed", Streams::randomSeed)
            .run("optionalInMonitor", Streams::optionalInMonitor);
    }

    static int sum(Map<String, Integer> map) {
        int[] sum = new int[1];
        map.forEach((key, value) -> sum[0] += value);
        return sum[0];
    }
}
