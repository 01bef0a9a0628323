import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Classes of java.util.concurrent, by less usual methods and in mixtures. */
public class MoreConcurrent extends Handover {
    MoreConcurrent() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("synchronousQueue", Queues::synchronousQueue)
            .run("synchronousQueueFair", Queues::synchronousQueueFair)
            .run("synchronousOffer", Queues::synchronousOffer)
            .run("synchronousPoll", Queues::synchronousPoll)
            .run("transferTry", Queues::transferTry)
            .run("transferTyped", Queues::transferTyped)
            .run("transferWaits", Queues::transferWaits)
            .run("dequeBothEnds", Queues::dequeBothEnds)
            .run("dequeMixed", Queues::dequeMixed)
            .run("queueClear", Queues::queueClear)
            .run("queueAddAll", Queues::queueAddAll)
            .run("queueDrained", Queues::queueDrained)
            .run("queueCapacity", Queues::queueCapacity)
            .run("queueRemoveElement", Queues::queueRemoveElement)
            .run("queueIterator", Queues::queueIterator)
            .run("queueStream", Queues::queueStream)
            .run("queueContains", Queues::queueContains)
            .run("boundedHandback", Queues::boundedHandback)
            .run("offerFails", Queues::offerFails)
            .run("mapTwoKeys", ConcurrentMaps::mapTwoKeys)
            .run("mapSize", ConcurrentMaps::mapSize)
            .run("mapIsEmpty", ConcurrentMaps::mapIsEmpty)
            .run("mapMappingCount", ConcurrentMaps::mapMappingCount)
            .run("mapClear", ConcurrentMaps::mapClear)
            .run("mapClearSize", ConcurrentMaps::mapClearSize)
            .run("mapPutAll", ConcurrentMaps::mapPutAll)
            .run("mapRemoveTwo", ConcurrentMaps::mapRemoveTwo)
            .run("mapReplaceThree", ConcurrentMaps::mapReplaceThree)
            .run("mapPutIfAbsentFails", ConcurrentMaps::mapPutIfAbsentFails)
            .run("mapComputePresent", ConcurrentMaps::mapComputePresent)
            .run("mapComputeReads", ConcurrentMaps::mapComputeReads)
            .run("mapMergeReads", ConcurrentMaps::mapMergeReads)
            .run("mapComputeIfAbsentOnce", ConcurrentMaps::mapComputeIfAbsentOnce)
            .run("mapKeysOwnClass", ConcurrentMaps::mapKeysOwnClass)
            .run("mapKeySetIterator", ConcurrentMaps::mapKeySetIterator)
            .run("mapEntrySetStream", ConcurrentMaps::mapEntrySetStream)
            .run("mapValuesContains", ConcurrentMaps::mapValuesContains)
            .run("mapForEachParallel", ConcurrentMaps::mapForEachParallel)
            .run("mapToString", ConcurrentMaps::mapToString)
            .run("mapConcatenated", ConcurrentMaps::mapConcatenated)
            .run("mapEquals", ConcurrentMaps::mapEquals)
            .run("mapEntrySetValue", ConcurrentMaps::mapEntrySetValue)
            .run("mapValuesRemove", ConcurrentMaps::mapValuesRemove)
            .run("mapCopied", ConcurrentMaps::mapCopied)
            .run("mapEnumeration", ConcurrentMaps::mapEnumeration)
            .run("skipListFirst", ConcurrentMaps::skipListFirst)
            .run("skipListComparator", ConcurrentMaps::skipListComparator)
            .run("skipListHeadMap", ConcurrentMaps::skipListHeadMap)
            .run("skipSetCeiling", ConcurrentMaps::skipSetCeiling)
            .run("copyOnWriteIterator", ConcurrentMaps::copyOnWriteIterator)
            .run("copyOnWriteIfAbsent", ConcurrentMaps::copyOnWriteIfAbsent)
            .run("concurrentDequeFirst", ConcurrentMaps::concurrentDequeFirst)
            .run("linkedQueueMethodReference", Counts::linkedQueueMethodReference)
            .run("newKeySet", Counts::newKeySet)
            .run("semaphoreFails", Counts::semaphoreFails)
            .run("semaphoreDrainNothing", Counts::semaphoreDrainNothing)
            .run("semaphoreMany", Counts::semaphoreMany)
            .run("semaphoreTimedOut", Counts::semaphoreTimedOut)
            .run("latchTimedOut", Counts::latchTimedOut)
            .run("latchCount", Counts::latchCount)
            .run("barrierWaiting", Counts::barrierWaiting)
            .run("barrierBroken", Counts::barrierBroken)
            .run("barrierTwice", Counts::barrierTwice)
            .run("phaserTiered", Counts::phaserTiered)
            .run("phaserDeregister", Counts::phaserDeregister)
            .run("phaserAwaitAdvance", Counts::phaserAwaitAdvance)
            .run("phaserOnAdvance", AtomicObjects::phaserOnAdvance)
            .run("exchangerBothWays", AtomicObjects::exchangerBothWays)
            .run("delayQueueTyped", AtomicObjects::delayQueueTyped)
            .run("delayQueueTake", AtomicObjects::delayQueueTake)
            .run("adderReset", AtomicObjects::adderReset)
            .run("accumulatorMax", AtomicObjects::accumulatorMax)
            .run("doubleAccumulator", AtomicObjects::doubleAccumulator)
            .run("stampedReferenceStamp", AtomicObjects::stampedReferenceStamp)
            .run("markableAttempt", AtomicObjects::markableAttempt)
            .run("updateAndGetReads", AtomicObjects::updateAndGetReads)
            .run("accumulateAndGetReads", AtomicObjects::accumulateAndGetReads)
            .run("referenceGetAndUpdate", AtomicObjects::referenceGetAndUpdate)
            .run("atomicGetPlain", AtomicObjects::atomicGetPlain)
            .run("atomicOpaque", AtomicObjects::atomicOpaque)
            .run("atomicCompareAndExchange", AtomicObjects::atomicCompareAndExchange)
            .run("atomicToString", AtomicObjects::atomicToString)
            .run("atomicConcatenated", AtomicObjects::atomicConcatenated)
            .run("atomicLongArrayUpdate", AtomicObjects::atomicLongArrayUpdate);
    }

    /** A box whose delay is over. */
    record Later(Box box) implements Delayed {
        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}
