import { Injectable } from '@nestjs/common';
import { SagaMetadata } from './saga-metadata.js';
import type { SagaOptions } from '../options/saga-options.js';

/**
 * Declares a class as a saga: its `@Step` methods run in the order of their declaration, unless their `after` says
 * otherwise, and are undone in reverse when one of them fails. Implies `@Injectable`, so constructor injection works as in any provider.
 */
export function Saga(options: SagaOptions = {}): ClassDecorator {
  return (target) => {
    Injectable()(target);
    SagaMetadata.defineSaga(target, options);
  };
}
