import type { Type } from '@nestjs/common';
import type { ObservedEvent, ObservedEventType } from '../types/observed-event.js';
import { SagaMetadata } from './saga-metadata.js';

/**
 * Has a method of any provider or controller called when something has happened to a saga in this process: once it is
 * stored, with the event. For metrics, alerts and the like: the saga does not wait for the method, what it throws is a
 * line in the log, and a process that dies in between tells nobody. What must not be lost goes through `ctx.publish`.
 * @param types one of the events, or several
 * @param saga only sagas of this class; default: all of them
 */
export function OnSagaEvent<const Observed extends ObservedEventType>(
  types: Observed | readonly Observed[],
  ...saga: [saga?: Type]
) {
  return <Method extends (event: ObservedEvent<Observed>) => unknown>(
    target: object,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineObserver(target, {
      method: key,
      types: Array.isArray(types) ? types : [types],
      // Given and undefined is a mistake: files that import each other.
      ...(saga.length > 0 && { saga: { given: saga[0] } }),
    });
  };
}
