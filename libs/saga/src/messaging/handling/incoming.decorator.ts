import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type IncomingMessage, incomingMessage } from './incoming-message.js';

/**
 * Injects the message as an `IncomingMessage` into a parameter of a handler (`@DurableEvent`, `@SagaReply`,
 * `@EventPattern`), with its id, key and headers, for every broker.
 */
export const Incoming = createParamDecorator((_: unknown, context: ExecutionContext): IncomingMessage => {
  const rpc = context.switchToRpc();
  return incomingMessage(rpc.getData(), rpc.getContext());
});
