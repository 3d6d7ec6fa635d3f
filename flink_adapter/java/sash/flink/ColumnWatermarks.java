package sash.flink;

import org.apache.flink.api.common.eventtime.TimestampAssigner;
import org.apache.flink.api.common.eventtime.TimestampAssignerSupplier;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkGeneratorSupplier;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * Timestamps from a column, and a watermark that stays a delay behind the newest of them: from time to time, as Flink is
 * set up ({@code pipeline.auto-watermark-interval}), or with every record that moves it.
 */
public final class ColumnWatermarks implements WatermarkStrategy<Object> {
    private static final long serialVersionUID = 1L;

    private final Columns columns;
    private final long delay;
    private final boolean each;
    private final long tick;

    /** The time is the only one of the columns; if it is a number, one of so many nanoseconds. */
    public ColumnWatermarks(Columns columns, long delay, boolean each, long tick) {
        this.columns = columns;
        this.delay = delay;
        this.each = each;
        this.tick = tick;
    }

    @Override
    public TimestampAssigner<Object> createTimestampAssigner(TimestampAssignerSupplier.Context context) {
        columns.open(Thread.currentThread().getContextClassLoader());
        LogicalType type = columns.type.getTypeAt(0);
        return (row, before) -> {
            Long time = Columns.millis(columns.get(row, 0), type, tick);
            return time == null ? Long.MIN_VALUE : time; // a row without a time is rejected later
        };
    }

    @Override
    public WatermarkGenerator<Object> createWatermarkGenerator(WatermarkGeneratorSupplier.Context context) {
        return new WatermarkGenerator<Object>() {
            private long newest = Long.MIN_VALUE + delay + 1;

            @Override
            public void onEvent(Object row, long timestamp, WatermarkOutput output) {
                if (timestamp > newest) {
                    newest = timestamp;
                    if (each) {
                        onPeriodicEmit(output);
                    }
                }
            }

            @Override
            public void onPeriodicEmit(WatermarkOutput output) {
                output.emitWatermark(new Watermark(newest - delay - 1));
            }
        };
    }
}
