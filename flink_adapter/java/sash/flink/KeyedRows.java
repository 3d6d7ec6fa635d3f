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
    private final DataStructureConverter<Object, Object> converter;

    /** The first {@code keys} of the columns are the key. */
    public KeyedRows(Columns columns, int keys) {
        this.columns = columns;
        this.keys = keys;
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
        output.collect(element.replace(Row.of(key, row)));
    }
}
