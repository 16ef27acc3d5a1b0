import { type SagaService, SagaUnavailableError } from 'nestjs-durable-saga';
import { type ChaosOrder, ChaosOrderSaga } from '../programs/order.saga.js';

/** Starts so many orders, numbered from `first`. If `held`, the worker that takes the first of them is held in its third step. */
export async function startOrders(
  sagas: SagaService,
  { first, count, held }: { readonly first: number; readonly count: number; readonly held: boolean },
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, k) =>
      startOnce(
        sagas,
        { n: first + k, refused: k % 5 === 0, shaky: k % 7 === 0, held: held && k === 0 },
        `order-${first + k}`,
      ),
    ),
  );
}

/** Repeats the call as long as the answer is that the saga may have started. */
async function startOnce(sagas: SagaService, order: ChaosOrder, correlationId: string): Promise<void> {
  for (;;) {
    try {
      return void (await sagas.start(ChaosOrderSaga, order, { correlationId }));
    } catch (error) {
      if (!(error instanceof SagaUnavailableError)) throw error;
    }
  }
}
