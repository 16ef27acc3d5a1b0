import { register } from 'node:module';

/**
 * Sagas in a process that cannot find some packages, whose names it is given. What Node says of a package that does not
 * exist is said of these.
 */
const missing = process.argv.slice(2);
const hook = `export async function resolve(specifier, context, next) {
  return next(${JSON.stringify(missing)}.includes(specifier) ? 'no-such-package-' + specifier : specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

const { Saga, Step } = await import('nestjs-durable-saga');
const { SagaTest } = await import('nestjs-durable-saga/testing');

/** A saga of one step, decorated as a compiler would do it. */
function sagaOf(name, input) {
  class OfInput {
    take({ input: given }) {
      return given;
    }
  }
  Step()(OfInput.prototype, 'take', Object.getOwnPropertyDescriptor(OfInput.prototype, 'take'));
  Saga({ name, input })(OfInput);
  return OfInput;
}

class OrderDto {}
const validate = (value) => ({ value });
const schema = { '~standard': { version: 1, vendor: 'by-hand', validate } };

const tell = async (what, saga) => {
  const outcome = await SagaTest.of(saga)
    .run({ sku: 'cup' })
    .then(
      ({ outcome: { status } }) => ({ status }),
      ({ name, message }) => ({ name, message }),
    );
  console.log(JSON.stringify({ what, ...outcome }));
};
await tell('none', sagaOf('unchecked'));
await tell('schema', sagaOf('by-schema', schema));
await tell('class', sagaOf('by-class', OrderDto));
