import { expressionsOf, filled, filledText, type TextTemplate, writtenText } from '../expression/template.js';
import type { MessageDefinition } from '../format/call-format.js';
import type { PreparedCall } from './call.js';
import { type CallContext, ExpressionValues, type Surroundings } from './expression-values.js';

/** Publishes a message with the checkpoint of its step, as `ctx.publish` of a class does. */
export class MessageCall implements PreparedCall {
  constructor(
    private readonly definition: MessageDefinition,
    private readonly surroundings: Surroundings,
  ) {}

  run(context: CallContext): Promise<void> {
    const { topic, key, type, payload, headers = new Map<string, TextTemplate>() } = this.definition;
    const where = `the message to ${writtenText(topic)}`;
    const values = new ExpressionValues(context, this.surroundings, where);
    return values.evaluated(async () => {
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
}
