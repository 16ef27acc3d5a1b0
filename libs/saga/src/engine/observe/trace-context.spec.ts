import { partsOf, traceOfSaga, traceparentOf } from './trace-context.js';

const SAGA = '01932c07-209c-7d6a-a55e-3d4c5a6b7c8d';
const MESSAGE = '01932c07-3333-7e6a-855e-00000000000f';

test('all messages of a saga belong to the trace that is its id, each with a span of its own', () => {
  const traceparent = traceparentOf(traceOfSaga(SAGA), MESSAGE);
  expect(traceparent).toBe('00-01932c07209c7d6aa55e3d4c5a6b7c8d-855e00000000000f-01');
  expect(partsOf(traceparent)?.trace).toBe(traceOfSaga(SAGA));
});

test.each([undefined, '', 'x', `00-${'0'.repeat(32)}-855e00000000000f-01`, '00-12-34-01'])(
  '%s is no trace',
  (header) => expect(partsOf(header)).toBeUndefined(),
);
