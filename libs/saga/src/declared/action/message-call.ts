import { expressionsOf, filled, filledText, type TextTemplate, writtenText } from '../expression/template.js';
import type { MessageDefinition } from '../format/call-format.js';
import { type PreparedCall, evaluated } from './call.js';
import { type CallContext, CallValues, type Surroundings } from './call-values.js';

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
      const valueOf = await values.of(expressionsOf([topic, key, type, headers, payload]));
      context.publish({
        topic: filledText(topic, valueOf),
        ...(key && { key: filledText(key, valueOf) }),
        ...(type && { type: filledText(type, valueOf) }),
        payload: payload && filled(payload, valueOf),
        headers: Object.fromEntries([...headers].map(([name, text]) => [name, filledText(text, valueOf)])),
      });
    });
  }

  private get where(): string {
    return `the message to ${writtenText(this.definition.topic)}`;
  }
}
