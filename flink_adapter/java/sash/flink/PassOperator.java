package sash.flink;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Passes records on: a place to which they are dealt. */
public final class PassOperator extends AbstractStreamOperator<Object> implements OneInputStreamOperator<Object, Object> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(StreamRecord<Object> element) {
        output.collect(element);
    }
}
