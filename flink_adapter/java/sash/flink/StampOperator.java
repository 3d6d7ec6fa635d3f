package sash.flink;

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
 */
public final class StampOperator extends AbstractStreamOperator<Row> implements OneInputStreamOperator<Row, Row> {
    private static final long serialVersionUID = 1L;

    private transient long watermark;

    @Override
    public void open() throws Exception {
        super.open();
        watermark = Long.MIN_VALUE;
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        watermark = mark.getTimestamp();
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
