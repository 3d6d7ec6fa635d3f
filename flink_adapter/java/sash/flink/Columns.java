package sash.flink;

import java.io.Serializable;
import java.time.Instant;
import java.util.Arrays;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.data.utils.ProjectedRowData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.Row;

/** Some columns of rows, whatever the rows are: Flink's rows, tuples, or the rows of tables as they are inside. */
public final class Columns implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final long MILLISECOND = 1_000_000;

    final RowType type;
    private final int[] places;
    private final DataStructureConverter<Object, Object>[] converters;
    private final RowData.FieldGetter[] getters;
    private final RowData.FieldGetter[] fields;
    private transient ProjectedRowData projected;

    /** The columns at {@code places} of rows of {@code rows}, under these names. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public Columns(DataType rows, String[] names, int[] places) {
        this.places = places;
        LogicalType[] types = new LogicalType[places.length];
        converters = new DataStructureConverter[places.length];
        getters = new RowData.FieldGetter[places.length];
        fields = new RowData.FieldGetter[places.length];
        for (int i = 0; i < places.length; i++) {
            DataType column = rows.getChildren().get(places[i]);
            types[i] = column.getLogicalType().copy(true);
            converters[i] = DataStructureConverters.getConverter(column);
            getters[i] = RowData.createFieldGetter(types[i], places[i]);
            fields[i] = RowData.createFieldGetter(types[i], i);
        }
        type = RowType.of(types, names);
    }

    void open(ClassLoader loader) {
        projected = ProjectedRowData.from(places);
        for (DataStructureConverter<Object, Object> converter : converters) {
            converter.open(loader);
        }
    }

    /** The columns as a row, which may be a view of the one given. */
    RowData view(Object row) {
        return row instanceof RowData ? projected.replaceRow((RowData) row) : of(row);
    }

    /** One of the columns of such a row. */
    Object field(RowData view, int i) {
        return fields[i].getFieldOrNull(view);
    }

    /** The columns as a row of its own. */
    GenericRowData of(Object row) {
        GenericRowData made = new GenericRowData(places.length);
        for (int i = 0; i < places.length; i++) {
            made.setField(i, get(row, i));
        }
        return made;
    }

    Object get(Object row, int i) {
        if (row instanceof RowData) {
            return getters[i].getFieldOrNull((RowData) row);
        }
        Object value = row instanceof Row ? ((Row) row).getField(places[i]) : ((Tuple) row).getField(places[i]);
        return converters[i].toInternalOrNull(value);
    }

    /** A hash that is the same on every machine and in every run: state is found by it. */
    static int hash(Object value) {
        if (value instanceof byte[]) {
            return Arrays.hashCode((byte[]) value);
        }
        if (value instanceof Double && (Double) value == 0) {
            return 0; // -0.0 equals 0.0
        }
        if (value instanceof Float && (Float) value == 0) {
            return 0;
        }
        return value instanceof DecimalData ? ((DecimalData) value).toBigDecimal().hashCode() : value == null ? 1 : value.hashCode();
    }

    /** A time in milliseconds, as Flink has it: of timestamps, dates (days), and numbers, which are milliseconds. */
    static Long millis(Object value, LogicalType type) {
        return millis(value, type, MILLISECOND);
    }

    /** The same, rounded down, where numbers are {@code tick} nanoseconds each. */
    static Long millis(Object value, LogicalType type, long tick) {
        if (value instanceof TimestampData) {
            return ((TimestampData) value).getMillisecond();
        }
        if (value instanceof Integer && type.is(org.apache.flink.table.types.logical.LogicalTypeRoot.DATE)) {
            return Math.multiplyExact((Integer) value, 86_400_000L);
        }
        if (value instanceof Instant) {
            return ((Instant) value).toEpochMilli();
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return (long) Math.floor(tick == MILLISECOND ? number : number * tick / MILLISECOND);
        }
        return value instanceof Number ? (Long) millis(((Number) value).longValue(), tick) : null;
    }

    private static long millis(long number, long tick) {
        if (tick <= MILLISECOND) {
            return Math.floorDiv(number, MILLISECOND / tick);
        }
        long factor = tick / MILLISECOND;
        long farthest = Long.MAX_VALUE / factor; // a row of such a time is rejected later
        return Math.max(-farthest, Math.min(farthest, number)) * factor;
    }
}
