package sash.flink;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Takes a side output that nobody may read: PyFlink fails where there is none and a function gives something to it. */
public final class DropOperator extends AbstractStreamOperator<Object> implements OneInputStreamOperator<Object, Object> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(StreamRecord<Object> element) {}
}
