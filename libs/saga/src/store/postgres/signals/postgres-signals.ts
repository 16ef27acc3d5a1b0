import type {
  AwaitedSignals,
  SignalledSaga,
  SignalResult,
  StoreTarget,
} from '../../../engine/ports/saga-store.js';
import type { SentSignal } from '../../../engine/ports/stored-saga.js';
import { fieldArrays } from '../checkpoint/column-values.js';
import type { Statements } from '../sql-texts.js';
import { isUuid } from '../../../engine/payload/storable-key.js';

/** Sends a statement, in whichever transaction. */
type Query = <Row>(text: string, parameters: unknown[]) => Promise<Row[]>;

type Addressed = SentSignal & { readonly target: StoreTarget };

interface SignalRow extends SignalledSaga {
  readonly outcome: SignalResult['outcome'];
  readonly awaited: readonly string[] | null;
  readonly elsewhere: boolean;
}

/** Tells sagas something: see signal.sql. */
export async function sendSignals(
  query: Query,
  sql: Statements,
  signals: readonly Addressed[],
  awaited?: AwaitedSignals,
): Promise<SignalResult[]> {
  const targets = signals.map(({ target }) => columnsOf(target));
  const [ids, names, correlationIds] = fieldArrays(targets, 'id', 'name', 'correlationId');
  const [signalNames, messageIds, payloads] = fieldArrays(signals, 'name', 'messageId', 'payload');
  const rows = await query<SignalRow>(
    ...sql.signal({
      ...{ ids, names, correlationIds, signals: signalNames, messageIds, payloads },
      known: awaited ? JSON.stringify(awaited) : null,
    }),
  );
  return rows.map(({ outcome, awaited, elsewhere, id, name, version, status }) => {
    if (outcome === 'unknown') return { outcome };
    const saga = { id, name, version, status };
    return outcome === 'refused'
      ? { outcome, saga, awaited: [...new Set(awaited)], elsewhere }
      : { outcome, saga };
  });
}

function columnsOf(target: StoreTarget) {
  if ('id' in target) {
    const id = isUuid(target.id) ? target.id : null;
    return { id, name: null, correlationId: null };
  }
  const { name, correlationId } = target;
  return { id: isUuid(correlationId) ? correlationId : null, name, correlationId };
}
