import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type IncomingMessage, incomingMessage } from './incoming-message.js';

/**
 * A parameter of a handler (`@DurableEvent`, `@SagaReply`, `@EventPattern`): the message as an `IncomingMessage`, with its
 * id, key and headers, whichever broker brought it.
 */
export const Incoming = createParamDecorator((_: unknown, context: ExecutionContext): IncomingMessage => {
  const rpc = context.switchToRpc();
  return incomingMessage(rpc.getData(), rpc.getContext());
});
