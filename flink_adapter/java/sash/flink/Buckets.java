package sash.flink;

import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.types.Row;

/** What buckets of keys are called. */
public final class Buckets {
    private Buckets() {}

    /** Numbers that Flink spreads evenly over its key groups, and so over tasks, however many there are. */
    public static int[] named(int count, int maxParallelism) {
        int[] names = new int[count];
        int next = 0;
        for (int i = 0; i < count; i++) {
            int group = (int) ((long) i * maxParallelism / count);
            while (KeyGroupRangeAssignment.assignToKeyGroup(Row.of(next), maxParallelism) != group) {
                next++;
            }
            names[i] = next++;
        }
        return names;
    }
}
