package sash.flink;

import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.types.Row;

/**
 * Tells each record the watermark that it came behind: a key and a value become the key and a row of the watermark and the
 * value, or its fields.
 *
 * <p>The operator of PyFlink behind this one holds watermarks back until a bundle of records is done, which is whenever it
 * is: without the stamp, which rows are late would be a matter of luck.
 *
 * <p>The watermark is kept in checkpoints, which Flink's own operators do not do: what was too late before a restart is too
 * late after it. At another parallelism each task starts with the least of all. The watermark of the end of the input is
 * not kept: a job that starts from there has more to read.
 */
public final class StampOperator extends AbstractStreamOperator<Row> implements OneInputStreamOperator<Row, Row> {
    private static final long serialVersionUID = 1L;

    private transient long watermark;
    private transient long kept;
    private transient ListState<Long> checkpointed;

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        checkpointed = context.getOperatorStateStore()
                .getUnionListState(new ListStateDescriptor<>("watermark", LongSerializer.INSTANCE));
        long least = Long.MAX_VALUE;
        for (long mark : checkpointed.get()) {
            least = Math.min(least, mark);
        }
        kept = least == Long.MAX_VALUE ? Long.MIN_VALUE : least;
        watermark = kept;
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        checkpointed.update(List.of(kept));
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        watermark = Math.max(watermark, mark.getTimestamp()); // a source that starts anew begins with older ones
        if (mark.getTimestamp() != Long.MAX_VALUE) {
            kept = watermark;
        }
        super.processWatermark(mark);
    }

    @Override
    public void processElement(StreamRecord<Row> element) {
        Row row = element.getValue();
        Object value = row.getField(1);
        Row stamped;
        if (value instanceof Row) {
            Row fields = (Row) value;
            stamped = new Row(fields.getArity() + 1);
            for (int i = 0; i < fields.getArity(); i++) {
                stamped.setField(i + 1, fields.getField(i));
            }
        } else {
            stamped = new Row(2);
            stamped.setField(1, value);
        }
        stamped.setField(0, watermark);
        output.collect(element.replace(Row.of(row.getField(0), stamped)));
    }
}
