import { SagaConfigurationError } from '../errors.js';
import { currentCall } from './current-call.js';

/**
 * What transactional methods are given as `ctx.manager` and `ctx.transaction` in a test without one: whatever they use of it is an error.
 * @param onUse is notified of the error, too, since a step may swallow it
 */
export function missingManager(onUse: (error: SagaConfigurationError) => void): object {
  return new Proxy(
    {},
    {
      get: (_target, property) => {
        // `await` and printing read these properties.
        if (typeof property === 'symbol' || property === 'then' || property === 'toJSON') return undefined;
        const error = new SagaConfigurationError(textOf(property));
        onUse(error);
        throw error;
      },
    },
  );
}

function textOf(property: string): string {
  const call = currentCall()?.call;
  const who = call ? `'${call.method}' of ${call.saga}` : 'A method';
  return (
    `${who} uses ctx.manager.${property}, but this SagaTest has no manager. Call .manager(fake) on the builder, with a fake ` +
    `of the methods that transactional steps and compensations call: SagaTest.of(…).manager({ ${property}: async () => undefined }). ` +
    `With another database layer than TypeORM, call .transaction(fake).`
  );
}
