import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import { SagaMetadata } from './saga-metadata.js';

/** The name of a saga whose options have none: `PlaceOrderSaga` → `place-order`, `HTTPRequest2` → `http-request2`. */
export function defaultSagaName(saga: Type): string {
  return saga.name
    .replace(/Saga$/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/**
 * The name of a saga by its class. Checks nothing else of it.
 * @throws SagaDefinitionError when the class is not decorated with `@Saga`
 */
export function sagaNameOf(saga: Type): string {
  const options = SagaMetadata.sagaOf(saga);
  if (!options)
    throw new SagaDefinitionError(
      `${saga.name || 'An unnamed class'}: it is not a saga; decorate the class with @Saga()`,
    );
  return options.name ?? defaultSagaName(saga);
}
