import { stepOfKey } from '../definition/graph/saga-graph.js';
import type { AdminAction } from './admin.options.js';

/** What `authorize` receives of a request beside the saga: what was sent, and the step that it names. */
export function askedAction(
  kind: AdminAction['kind'],
  body: unknown,
): Pick<AdminAction, 'kind' | 'step' | 'parameters'> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { kind };
  const { step } = body as { readonly step?: unknown };
  return { kind, ...(typeof step === 'string' && { step: stepOfKey(step) }), parameters: { ...body } };
}
