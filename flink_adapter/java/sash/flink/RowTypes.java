package sash.flink;

import java.lang.reflect.Array;
import org.apache.flink.api.common.typeinfo.BasicArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.LocalTimeTypeInfo;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.ObjectArrayTypeInfo;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.DataTypeQueryable;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeInfoDataTypeConverter;

/** The types of rows in the terms of streams and in those of SQL. */
public final class RowTypes {
    private RowTypes() {}

    /** What SQL calls the type of a stream's records. */
    public static DataType dataType(TypeInformation<?> type) {
        if (type instanceof DataTypeQueryable) {
            return ((DataTypeQueryable) type).getDataType();
        }
        return TypeInfoDataTypeConverter.toDataType(null, type);
    }

    /** The row type that SQL writes so. */
    public static RowType parsed(String sql) {
        return (RowType) LogicalTypeParser.parse(sql, RowTypes.class.getClassLoader());
    }

    /** The type without its last field. */
    public static RowType withoutLast(RowType type) {
        return new RowType(type.isNullable(), type.getFields().subList(0, type.getFieldCount() - 1));
    }

    /** The same for streams that become tables: rows as tables have them inside, which nothing has to convert. */
    public static TypeInformation<RowData> ofTables(RowType type) {
        return InternalTypeInfo.of(type);
    }

    /** A row type in the terms of streams; how many digits decimals and timestamps have it does not tell. */
    public static RowTypeInfo ofStreams(RowType type) {
        TypeInformation<?>[] fields = new TypeInformation<?>[type.getFieldCount()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = ofStreams(type.getTypeAt(i));
        }
        return new RowTypeInfo(fields, type.getFieldNames().toArray(new String[0]));
    }

    private static TypeInformation<?> ofStreams(LogicalType type) {
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return Types.BOOLEAN;
            case TINYINT:
                return Types.BYTE;
            case SMALLINT:
                return Types.SHORT;
            case INTEGER:
                return Types.INT;
            case BIGINT:
                return Types.LONG;
            case FLOAT:
                return Types.FLOAT;
            case DOUBLE:
                return Types.DOUBLE;
            case VARCHAR:
                return Types.STRING;
            case VARBINARY:
                return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
            case DECIMAL:
                return Types.BIG_DEC;
            case DATE:
                return LocalTimeTypeInfo.LOCAL_DATE;
            case TIME_WITHOUT_TIME_ZONE:
                return LocalTimeTypeInfo.LOCAL_TIME;
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return LocalTimeTypeInfo.LOCAL_DATE_TIME;
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Types.INSTANT;
            case ROW:
                return ofStreams((RowType) type);
            case ARRAY:
                TypeInformation<?> item = ofStreams(type.getChildren().get(0));
                Class<?> array = Array.newInstance(item.getTypeClass(), 0).getClass();
                TypeInformation<?> basic = BasicArrayTypeInfo.getInfoFor(array);
                return basic != null ? basic : ObjectArrayTypeInfo.getInfoFor(array, item);
            default:
                throw new IllegalArgumentException("a stream of Python has no " + type);
        }
    }
}
