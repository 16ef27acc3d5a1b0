import type { SagaService } from 'nestjs-durable-saga';
import { ChaosOrderSaga } from '../programs/order.saga.js';

/** Starts so many orders, numbered from `first`. If `held`, the worker that takes the first of them is held in its third step. */
export async function startOrders(
  sagas: SagaService,
  { first, count, held }: { readonly first: number; readonly count: number; readonly held: boolean },
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, k) =>
      sagas.start(
        ChaosOrderSaga,
        { n: first + k, refused: k % 5 === 0, shaky: k % 7 === 0, held: held && k === 0 },
        { correlationId: `order-${first + k}` },
      ),
    ),
  );
}
