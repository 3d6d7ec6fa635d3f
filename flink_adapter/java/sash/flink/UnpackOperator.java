package sash.flink;

import java.io.ByteArrayInputStream;
import org.apache.flink.api.python.shaded.org.apache.arrow.memory.BufferAllocator;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.runtime.arrow.ArrowReader;
import org.apache.flink.table.runtime.arrow.ArrowUtils;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;
import org.apache.flink.util.OutputTag;

/**
 * Makes rows of the Arrow record batches that come from Python. The first byte tells what they are: results, late rows or
 * rejected rows; the last two go to side outputs.
 */
public final class UnpackOperator extends AbstractStreamOperator<Row> implements OneInputStreamOperator<byte[], Row> {
    private static final long serialVersionUID = 1L;

    private final RowType[] types;
    private final OutputTag<Row>[] tags;
    private final DataStructureConverter<Object, Object>[] converters;
    private final int end;
    private transient BufferAllocator allocator;

    /**
     * The types by kind, and the tags of the side outputs, null for the main one. {@code end} is the column of results
     * whose time, less a millisecond, is their timestamp, as with Flink's own windows; negative: there is none.
     */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public UnpackOperator(RowType[] types, OutputTag<?>[] tags, int end) {
        this.types = types;
        this.tags = (OutputTag<Row>[]) tags;
        this.end = end;
        converters = new DataStructureConverter[types.length];
        for (int i = 0; i < types.length; i++) {
            converters[i] = DataStructureConverters.getConverter(TypeConversions.fromLogicalToDataType(types[i]));
        }
    }

    @Override
    public void open() throws Exception {
        super.open();
        for (DataStructureConverter<Object, Object> converter : converters) {
            converter.open(getUserCodeClassloader());
        }
        allocator = ArrowUtils.getRootAllocator().newChildAllocator("sash-unpack", 0, Long.MAX_VALUE);
    }

    @Override
    public void processElement(StreamRecord<byte[]> element) throws Exception {
        byte[] bytes = element.getValue();
        int kind = bytes[0];
        ByteArrayInputStream stream = new ByteArrayInputStream(bytes, 1, bytes.length - 1);
        try (ArrowStreamReader reader = new ArrowStreamReader(stream, allocator)) {
            VectorSchemaRoot root = reader.getVectorSchemaRoot();
            ArrowReader rows = ArrowUtils.createArrowReader(root, types[kind]);
            while (reader.loadNextBatch()) {
                for (int i = 0; i < root.getRowCount(); i++) {
                    emit(kind, rows.read(i), element);
                }
            }
        }
    }

    private void emit(int kind, RowData row, StreamRecord<byte[]> packed) {
        StreamRecord<Row> made = new StreamRecord<>((Row) converters[kind].toExternal(row));
        if (kind == 0 && end >= 0) {
            made.setTimestamp(Columns.millis(RowData.createFieldGetter(types[0].getTypeAt(end), end).getFieldOrNull(row), types[0].getTypeAt(end)) - 1);
        } else if (packed.hasTimestamp()) {
            made.setTimestamp(packed.getTimestamp());
        }
        if (tags[kind] == null) {
            output.collect(made);
        } else {
            output.collect(tags[kind], made);
        }
    }

    @Override
    public void close() throws Exception {
        if (allocator != null) {
            allocator.close();
            allocator = null;
        }
        super.close();
    }
}
