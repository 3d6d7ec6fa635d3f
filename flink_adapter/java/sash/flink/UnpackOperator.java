package sash.flink;

import java.io.ByteArrayInputStream;
import org.apache.flink.api.python.shaded.org.apache.arrow.memory.BufferAllocator;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.runtime.arrow.ArrowReader;
import org.apache.flink.table.runtime.arrow.ArrowUtils;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.OutputTag;

/**
 * Makes rows of the Arrow record batches that come from Python. The first byte tells what they are: results, late rows or
 * rejected rows; the last two go to side outputs.
 */
public final class UnpackOperator extends AbstractStreamOperator<Object> implements OneInputStreamOperator<byte[], Object> {
    private static final long serialVersionUID = 1L;

    private final RowType[] types;
    private final OutputTag<Row>[] tags;
    private final DataStructureConverter<Object, Object>[] converters;
    private final RowDataSerializer inside;
    private final RowData.FieldGetter[] changed;
    private final int end;
    private final RowData.FieldGetter moment;
    private transient BufferAllocator allocator;
    private transient boolean reuses;

    /**
     * The types by kind, and the tags of the side outputs, null for the main one. {@code end} is the column of results
     * whose time, less a millisecond, is their timestamp, as with Flink's own windows; negative: there is none. Results
     * for a {@code table} are rows as tables have them inside. In the last column of a {@code changelog}, which is for a
     * table, is the kind of the row; its rows do not have it.
     */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public UnpackOperator(RowType[] types, OutputTag<?>[] tags, int end, boolean table, boolean changelog) {
        this.types = types;
        this.tags = (OutputTag<Row>[]) tags;
        this.end = end;
        moment = end < 0 ? null : RowData.createFieldGetter(types[0].getTypeAt(end), end);
        changed = changelog ? new RowData.FieldGetter[types[0].getFieldCount() - 1] : null;
        for (int i = 0; changelog && i < changed.length; i++) {
            changed[i] = RowData.createFieldGetter(types[0].getTypeAt(i), i);
        }
        inside = table ? new RowDataSerializer(changelog ? RowTypes.withoutLast(types[0]) : types[0]) : null;
        converters = new DataStructureConverter[types.length];
        for (int i = 0; i < types.length; i++) {
            converters[i] = DataStructureConverters.getConverter(TypeConversions.fromLogicalToDataType(types[i]));
        }
    }

    @Override
    public void open() throws Exception {
        super.open();
        reuses = getExecutionConfig().isObjectReuseEnabled();
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
        if (kind > 0) {
            StreamRecord<Row> made = new StreamRecord<>((Row) converters[kind].toExternal(row));
            if (packed.hasTimestamp()) {
                made.setTimestamp(packed.getTimestamp());
            }
            output.collect(tags[kind], made);
            return;
        }
        StreamRecord<Object> made = new StreamRecord<>(inside != null ? binary(row) : converters[0].toExternal(row));
        if (moment != null) {
            made.setTimestamp(Columns.millis(moment.getFieldOrNull(row), types[0].getTypeAt(end)) - 1);
        } else if (packed.hasTimestamp()) {
            made.setTimestamp(packed.getTimestamp());
        }
        output.collect(made);
    }

    /** The row as few bytes, which are copied fast: unless objects are reused, whoever is next is given a copy. */
    private RowData binary(RowData row) {
        BinaryRowData made = inside.toBinaryRow(changed == null ? row : change(row));
        return reuses ? made.copy() : made;
    }

    /** A row of a changelog, of the kind that its last column says. */
    private RowData change(RowData row) {
        GenericRowData made = new GenericRowData(RowKind.fromByteValue(row.getByte(changed.length)), changed.length);
        for (int i = 0; i < changed.length; i++) {
            made.setField(i, changed[i].getFieldOrNull(row));
        }
        return made;
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
