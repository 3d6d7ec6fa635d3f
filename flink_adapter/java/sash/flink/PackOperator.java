package sash.flink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.flink.api.python.shaded.org.apache.arrow.memory.BufferAllocator;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.flink.api.python.shaded.org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.arrow.ArrowUtils;
import org.apache.flink.table.runtime.arrow.ArrowWriter;
import org.apache.flink.types.Row;

/**
 * Gathers records into Arrow record batches, one for each bucket of keys, before they go to Python.
 *
 * <p>It has no state. All that it holds goes on before a checkpoint's barrier and at the end of the input: so nothing is
 * lost or doubled. A batch waits for more records for {@code latency} milliseconds at most; negative: without limit, for
 * batch jobs.
 *
 * <p>Watermarks wait with the records that came before them, and only the last one goes on: some sources give one every
 * few records. What comes behind a watermark and is newer may as well come before it. A record that is not newer may be
 * late: for it all that waits goes on first, and it stays as late as it was.
 */
public final class PackOperator extends AbstractStreamOperator<Row>
        implements OneInputStreamOperator<Object, Row>, BoundedOneInput {
    private static final long serialVersionUID = 1L;

    private final Columns columns;
    private final int keys;
    private final int[] buckets;
    private final int maxRows;
    private final long latency;
    private final int time;
    private final long tick;
    private transient Pack[] packs;
    private transient BufferAllocator allocator;
    private transient boolean timed;
    private transient long sent;
    private transient Watermark waiting;

    /**
     * The first {@code keys} of the columns are the key, the one at {@code time} is what watermarks are about, if it is not
     * negative; numbers in it are {@code tick} nanoseconds each. {@code buckets}: what the buckets are called.
     */
    public PackOperator(
            Columns columns, int keys, int[] buckets, int maxRows, long latency, int time, long tick) {
        this.columns = columns;
        this.keys = keys;
        this.buckets = buckets;
        this.maxRows = maxRows;
        this.latency = latency;
        this.time = time;
        this.tick = tick;
    }

    @Override
    public void open() throws Exception {
        super.open();
        columns.open(getUserCodeClassloader());
        allocator = ArrowUtils.getRootAllocator().newChildAllocator("sash-pack", 0, Long.MAX_VALUE);
        packs = new Pack[buckets.length];
    }

    @Override
    public void processElement(StreamRecord<Object> element) throws Exception {
        RowData row = columns.view(element.getValue());
        if (waiting != null && time >= 0 && !isNewer(row)) {
            release();
        }
        int bucket = bucket(row);
        if (packs[bucket] == null) {
            packs[bucket] = new Pack(buckets[bucket]);
        }
        packs[bucket].add(row, element);
        if (packs[bucket].rows >= maxRows) {
            packs[bucket].flush();
        } else if (!timed && latency >= 0) {
            timed = true;
            long now = getProcessingTimeService().getCurrentProcessingTime();
            getProcessingTimeService().registerTimer(now + latency, time -> {
                timed = false;
                release();
            });
        }
    }

    private boolean isNewer(RowData row) {
        Long moment = Columns.millis(columns.field(row, time), columns.type.getTypeAt(time), tick);
        return moment != null && moment > waiting.getTimestamp();
    }

    private int bucket(RowData row) {
        int hash = 0;
        for (int i = 0; i < keys; i++) {
            hash = 31 * hash + Columns.hash(columns.field(row, i));
        }
        hash *= 0x9E3779B9; // spreads small whole numbers
        return Math.floorMod(hash ^ (hash >>> 16), buckets.length);
    }

    private void flush() throws IOException {
        for (Pack pack : packs) {
            if (pack != null && pack.rows > 0) {
                pack.flush();
            }
        }
    }

    /** Let go on all that waits, the watermark last. */
    private void release() throws Exception {
        flush();
        if (waiting != null) {
            Watermark mark = waiting;
            waiting = null;
            super.processWatermark(mark);
        }
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        waiting = mark;
        if (!timed || mark.getTimestamp() == Long.MAX_VALUE) {
            release();
        }
    }

    @Override
    public void processWatermarkStatus(WatermarkStatus status) throws Exception {
        release();
        super.processWatermarkStatus(status);
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        release();
    }

    @Override
    public void endInput() throws Exception {
        release();
    }

    @Override
    public void finish() throws Exception {
        release();
        super.finish();
    }

    @Override
    public void close() throws Exception {
        if (packs != null) {
            for (Pack pack : packs) {
                if (pack != null) {
                    pack.root.close();
                }
            }
            allocator.close();
            packs = null;
        }
        super.close();
    }

    private final class Pack {
        final VectorSchemaRoot root = VectorSchemaRoot.create(ArrowUtils.toArrowSchema(columns.type), allocator);
        final ArrowWriter<RowData> writer = ArrowUtils.createRowDataArrowWriter(root, columns.type);
        final int bucket;
        int rows;
        long newest = Long.MIN_VALUE;

        Pack(int bucket) {
            this.bucket = bucket;
        }

        void add(RowData row, StreamRecord<?> element) {
            writer.write(row);
            rows++;
            if (element.hasTimestamp()) {
                newest = Math.max(newest, element.getTimestamp());
            }
        }

        void flush() throws IOException {
            writer.finish();
            root.setRowCount(rows); // also where there are no columns
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(512 + 16 * rows);
            try (ArrowStreamWriter stream = new ArrowStreamWriter(root, null, bytes)) {
                stream.start();
                stream.writeBatch();
                stream.end();
            }
            writer.reset();
            rows = 0;
            StreamRecord<Row> packed = new StreamRecord<>(Row.of(bucket, bytes.toByteArray()));
            if (latency < 0) {
                packed.setTimestamp(sent++); // batch jobs sort by key and timestamp: packs stay in their order
            } else if (newest != Long.MIN_VALUE) {
                packed.setTimestamp(newest);
            }
            newest = Long.MIN_VALUE;
            output.collect(packed);
        }
    }
}
