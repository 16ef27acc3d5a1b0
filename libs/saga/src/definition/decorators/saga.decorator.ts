import { Injectable, type Type } from '@nestjs/common';
import { SagaMetadata } from './saga-metadata.js';
import type { HasInput } from './step.decorator.js';
import type { SagaOptions } from '../options/saga-options.js';

/**
 * Declares a class as a saga. Its `@Step` methods run in the order of their declaration, unless they set `after`. If a
 * step fails, the completed steps are compensated in reverse order. `@Saga` implies `@Injectable`.
 */
export function Saga<Input = unknown>(options: SagaOptions<Input> = {}) {
  return <Class extends Type>(target: Class & HasInput<InstanceType<Class>, Input>): void => {
    Injectable()(target);
    SagaMetadata.defineSaga(target, options);
  };
}
