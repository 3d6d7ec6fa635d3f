package sash.flink;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;

/** Makes rows of a key and the columns that a query reads, for Python to take one by one. */
public final class KeyedRows extends AbstractStreamOperator<Row> implements OneInputStreamOperator<Object, Row> {
    private static final long serialVersionUID = 1L;

    private final Columns columns;
    private final int keys;
    private final boolean batch;
    private final DataStructureConverter<Object, Object> converter;
    private transient long sent;

    /**
     * The first {@code keys} of the columns are the key. Jobs in the {@code batch} runtime mode sort by key and timestamp, in
     * any order where there is none: rows are numbered there, so that those of a key stay in their order.
     */
    public KeyedRows(Columns columns, int keys, boolean batch) {
        this.columns = columns;
        this.keys = keys;
        this.batch = batch;
        converter = DataStructureConverters.getConverter(TypeConversions.fromLogicalToDataType(columns.type));
    }

    @Override
    public void open() throws Exception {
        super.open();
        columns.open(getUserCodeClassloader());
        converter.open(getUserCodeClassloader());
    }

    @Override
    public void processElement(StreamRecord<Object> element) throws Exception {
        GenericRowData found = columns.of(element.getValue());
        Row row = (Row) converter.toExternal(found);
        Row key = new Row(Math.max(keys, 1));
        for (int i = 0; i < keys; i++) {
            key.setField(i, row.getField(i));
        }
        if (keys == 0) {
            key.setField(0, 0);
        }
        StreamRecord<Row> keyed = element.replace(Row.of(key, row));
        if (batch) {
            keyed.setTimestamp(sent++);
        }
        output.collect(keyed);
    }
}
