import type { ProbeAnswer } from '../../definition/options/step-options.js';
import { StepRejectedError } from '../../errors.js';
import {
  expressionsOf,
  filled,
  filledText,
  type Template,
  type TextTemplate,
} from '../expression/template.js';
import { type PreparedCall, evaluated } from './call.js';
import { type CallContext, CallValues, type Surroundings } from './call-values.js';

/** `message` of a file. */
export interface MessageDefinition {
  readonly topic: TextTemplate;
  readonly key?: TextTemplate;
  readonly type?: TextTemplate;
  readonly payload?: Template;
  readonly headers?: ReadonlyMap<string, TextTemplate>;
}

/** Publishes a message with the checkpoint of its step, as `ctx.publish` of a class does. */
export class MessageCall implements PreparedCall {
  constructor(
    private readonly definition: MessageDefinition,
    private readonly surroundings: Surroundings,
  ) {}

  run(context: CallContext): Promise<void> {
    const { topic, key, type, payload, headers = new Map<string, TextTemplate>() } = this.definition;
    const values = new CallValues(context, this.surroundings);
    return evaluated(values, this.where, context, async () => {
      const texts = [topic, key, type, ...headers.values()].filter((text) => text !== undefined);
      const valueOf = await values.of([...texts, ...(payload ? [payload] : [])].flatMap(expressionsOf));
      context.publish({
        topic: filledText(topic, valueOf),
        ...(key && { key: filledText(key, valueOf) }),
        ...(type && { type: filledText(type, valueOf) }),
        payload: payload && filled(payload, valueOf),
        headers: Object.fromEntries([...headers].map(([name, text]) => [name, filledText(text, valueOf)])),
      });
    });
  }

  /** The format has no probe of this kind: a message is sent if, and only if, its step completed. */
  probe(): Promise<ProbeAnswer> {
    return Promise.reject(new StepRejectedError(`${this.where} cannot be a probe`));
  }

  private get where(): string {
    const { parts } = this.definition.topic;
    const topic = parts.map((part) => (typeof part === 'string' ? part : `{{ ${part.source} }}`)).join('');
    return `the message to ${topic}`;
  }
}
