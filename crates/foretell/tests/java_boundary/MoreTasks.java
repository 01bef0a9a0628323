import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Tasks, futures and pools, by less usual methods. */
public class MoreTasks extends Handover {
    MoreTasks() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("thenCombine", Futures::thenCombine)
            .run("anyOf", Futures::anyOf)
            .run("handle", Futures::handle)
            .run("whenComplete", Futures::whenComplete)
            .run("thenCompose", Futures::thenCompose)
            .run("thenAcceptBoth", Futures::thenAcceptBoth)
            .run("runAfterEither", Futures::runAfterEither)
            .run("applyToEither", Futures::applyToEither)
            .run("orTimeout", Futures::orTimeout)
            .run("copied", Futures::copied)
            .run("minimalStage", Futures::minimalStage)
            .run("exceptionally", Futures::exceptionally)
            .run("exceptionCaught", Futures::exceptionCaught)
            .run("getNow", Futures::getNow)
            .run("isCompletedExceptionally", Futures::isCompletedExceptionally)
            .run("completeFails", Futures::completeFails)
            .run("cancelled", Futures::cancelled)
            .run("cancelFails", Futures::cancelFails)
            .run("completeOnTimeout", Futures::completeOnTimeout)
            .run("completeAsync", Futures::completeAsync)
            .run("delayedExecutor", Futures::delayedExecutor)
            .run("asyncChain", Futures::asyncChain)
            .run("allOfStreams", Futures::allOfStreams)
            .run("recursiveTask", Pools::recursiveTask)
            .run("recursiveAction", Pools::recursiveAction)
            .run("countedCompleter", Pools::countedCompleter)
            .run("commonPoolQuiescence", Pools::commonPoolQuiescence)
            .run("isQuiescent", Pools::isQuiescent)
            .run("managedBlocker", Pools::managedBlocker)
            .run("invokeAnyResult", Pools::invokeAnyResult)
            .run("completionServicePoll", Pools::completionServicePoll)
            .run("getTimed", Pools::getTimed)
            .run("executionException", Pools::executionException)
            .run("completedTaskCount", Pools::completedTaskCount)
            .run("afterExecute", Pools::afterExecute)
            .run("terminatedHook", Pools::terminatedHook)
            .run("rejected", Pools::rejected)
            .run("callerRuns", Pools::callerRuns)
            .run("shutdownNowTasks", Pools::shutdownNowTasks)
            .run("prestarted", Pools::prestarted)
            .run("singleThreadOrder", Pools::singleThreadOrder)
            .run("cachedPool", Pools::cachedPool)
            .run("workStealing", Pools::workStealing)
            .run("scheduledDelay", Pools::scheduledDelay)
            .run("scheduledRate", Pools::scheduledRate)
            .run("timerTwice", Pools::timerTwice)
            .run("parallelForEach", Pools::parallelForEach)
            .run("parallelCollect", Pools::parallelCollect)
            .run("parallelReduce", Pools::parallelReduce)
            .run("parallelSetAll", Pools::parallelSetAll)
            .run("parallelSort", Pools::parallelSort)
            .run("parallelGrouping", Pools::parallelGrouping)
            .run("futureTaskDone", Pools::futureTaskDone)
            .run("memoizer", Pools::memoizer)
            .run("flowSubmission", Pools::flowSubmission);
    }
}
