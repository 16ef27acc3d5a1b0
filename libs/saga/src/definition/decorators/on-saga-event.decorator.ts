import type { Type } from '@nestjs/common';
import type { ObservedEvent, ObservedEventType } from '../types/observed-event.js';
import { SagaMetadata } from './saga-metadata.js';

/**
 * Calls a method of any provider or controller with events of sagas in this process, after they are stored. Use it for
 * metrics and alerts. The saga does not wait for the method, and an error of the method is only logged. If the process
 * dies between the event and the call, the event is lost. Use `ctx.publish` for messages that must not be lost.
 * @param types one event or several
 * @param saga the only class of sagas to observe; default: all sagas
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
