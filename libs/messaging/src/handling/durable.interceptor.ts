import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  Logger,
  type NestInterceptor,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { RmqContext } from '@nestjs/microservices';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { SagaUnavailableError } from 'nestjs-durable-saga';
import { serializeError } from 'nestjs-durable-saga/internal';
import { ApplicationLifeCycle, handling } from 'nestjs-durable-saga/internal/runtime';
import { checkHandlers } from './check-handlers.js';
import { DeadLetters, FailureCounts } from './dead-letters.js';
import { DURABLE_EVENT, type DurableSettings } from './durable-settings.js';
import { type IncomingMessage, incomingMessage, labelOf } from './incoming-message.js';
import { handlersDelays, JetStreamContext } from '../servers/jetstream.context.js';
import { signalReply } from './signal-reply.js';

/** How long (ms) RabbitMQ's messages are held back by default. */
const REDELIVER_AFTER = 1_000;

/** The part of amqplib's channel that is used. */
interface RmqChannel {
  ack(message: object): void;
  nack(message: object, allUpTo: boolean, requeue: boolean): void;
}

/**
 * Around each handler of `@DurableEvent` and `@SagaReply`: knows the message while it is handled, passes replies on, and
 * tells the broker the outcome, where that is done by the handler's side (RabbitMQ). Other transports acknowledge by the
 * outcome of the handler itself: JetStreamServer, DurableMqttServer, Kafka.
 */
@Injectable()
export class DurableInterceptor implements NestInterceptor, OnModuleInit {
  private readonly log = new Logger('SagaMessagingModule');

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  /** Nest makes it in each module that has handlers, also without SagaMessagingModule. */
  onModuleInit(): void {
    checkHandlers(this.modules);
  }

  /** Undefined: the application has handlers, and neither SagaModule nor SagaMessagingModule. */
  private get lifeCycle(): ApplicationLifeCycle | undefined {
    try {
      return this.moduleRef.get(ApplicationLifeCycle, { strict: false });
    } catch {
      return undefined;
    }
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const settings = Reflect.getMetadata(DURABLE_EVENT, context.getHandler()) as DurableSettings;
    const rpc = context.switchToRpc();
    const message = incomingMessage(rpc.getData(), rpc.getContext());
    const native: unknown = rpc.getContext();
    const { redeliverAfter } = settings;
    if (native instanceof JetStreamContext && redeliverAfter !== undefined)
      handlersDelays.set(native, redeliverAfter);
    if (this.lifeCycle?.isEnding) return from(refused(native, message));
    const work = this.bounded(message, settings, this.handle(message, settings, next));
    this.lifeCycle?.work.track(work);
    return from(native instanceof RmqContext ? this.acknowledging(native, settings, message, work) : work);
  }

  private handle(message: IncomingMessage, settings: DurableSettings, next: CallHandler): Promise<unknown> {
    return handling(message.headers, async () => {
      const result: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      if (settings.signal === undefined) return result;
      await signalReply(this.moduleRef, settings.signal, message, result, this.log);
      return undefined;
    });
  }

  /** Rejects if the broker is to deliver the message again. */
  private async bounded(
    message: IncomingMessage,
    settings: DurableSettings,
    handled: Promise<unknown>,
  ): Promise<unknown> {
    const { topic, attempts, deadLetters } = settings;
    if (attempts === undefined) return handled;
    const counts = countsOf(settings);
    try {
      const result = await handled;
      counts.over(message);
      return result;
    } catch (error) {
      const count = counts.failed(message);
      if (count < attempts) throw error;
      const { message: reason, stack } = serializeError(error);
      await this.moduleRef.get(DeadLetters, { strict: false }).store(message, settings, reason);
      counts.over(message);
      this.log.error(
        `Handling ${labelOf(message)} of '${topic}' failed ${count} time(s). It is acknowledged, and published to ` +
          `'${deadLetters}': ${reason}`,
        stack,
      );
      return undefined;
    }
  }

  /** Logs the failure here, once. Nest would report an unhandled error. */
  private async acknowledging(
    context: RmqContext,
    { topic, redeliverAfter = REDELIVER_AFTER }: DurableSettings,
    incoming: IncomingMessage,
    work: Promise<unknown>,
  ): Promise<undefined> {
    const [channel, message] = [context.getChannelRef() as RmqChannel, context.getMessage()];
    const delivery = deliveryOf(message);
    delivery.begin();
    const failed = await work.then(
      () => undefined,
      async (error: unknown) => {
        const { message: reason, stack } = serializeError(error);
        this.log.error(
          `Handling ${labelOf(incoming)} of '${topic}' failed; the broker redelivers it: ${reason}`,
          stack,
        );
        await new Promise((resolve) => setTimeout(resolve, redeliverAfter).unref());
        return true;
      },
    );
    const outcome = await delivery.end(failed ? 'failed' : 'done');
    if (outcome === 'done') this.tell(() => channel.ack(message));
    if (outcome === 'failed') this.tell(() => channel.nack(message, false, true));
    return undefined;
  }

  private tell(outcome: () => void): void {
    try {
      outcome();
    } catch (error) {
      // The channel is closed, and the broker delivers again by itself. With noAck there is nothing to acknowledge.
      this.log.debug(`The message could not be acknowledged: ${(error as Error).message}`);
    }
  }
}

/** By the handler, of which its settings are the metadata: each module has an interceptor of its own. */
const failures = new WeakMap<DurableSettings, FailureCounts>();

function countsOf(settings: DurableSettings): FailureCounts {
  const counts = failures.get(settings) ?? new FailureCounts();
  failures.set(settings, counts);
  return counts;
}

/**
 * Providers of the application may be closed already. RabbitMQ delivers a message again that was not acknowledged when its
 * channel closes; other servers give it back when its handler rejects.
 */
async function refused(context: unknown, message: IncomingMessage): Promise<undefined> {
  if (context instanceof RmqContext) return undefined;
  throw new SagaUnavailableError(
    `The process is shutting down, so ${labelOf(message)} was not handled. The broker redelivers it.`,
  );
}

/** What became of a delivery; undefined: it is not, or no longer, this one's to say. */
export type DeliveryOutcome = 'done' | 'failed' | undefined;

/** One delivery of a message, which several handlers may be given: the last of them tells the broker, once, for all. */
class Delivery {
  private open = 0;
  private failed = false;
  private told = false;

  begin(): void {
    this.open += 1;
  }

  async end(how: 'done' | 'failed'): Promise<DeliveryOutcome> {
    // Handlers begin together, but for the time that their guards and pipes take.
    await new Promise((resolve) => setImmediate(resolve));
    this.open -= 1;
    this.failed ||= how === 'failed';
    if (this.open > 0 || this.told) return undefined;
    this.told = true;
    return this.failed ? 'failed' : 'done';
  }
}

const deliveries = new WeakMap<object, Delivery>();

export function deliveryOf(message: object): Delivery {
  const delivery = deliveries.get(message) ?? new Delivery();
  deliveries.set(message, delivery);
  return delivery;
}
