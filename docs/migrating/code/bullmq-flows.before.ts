import { FlowProducer, type Job, Worker } from 'bullmq';

const connection = { host: 'localhost', port: 6379 };

declare const shop: {
  reserve(sku: string): Promise<{ reservation: string }>;
  charge(cents: number): Promise<{ payment: string }>;
  ship(sku: string, reservation: string): Promise<void>;
};

/** A flow is defined from its end: a parent waits for its children. */
export async function placeOrder(order: { id: string; sku: string; cents: number }): Promise<void> {
  const opts = {
    attempts: 5,
    backoff: { type: 'exponential', delay: 1_000 },
    failParentOnFailure: true,
    jobId: order.id,
  };
  await new FlowProducer({ connection }).add({
    ...{ name: 'ship', queueName: 'shipping', data: order, opts },
    children: [
      { name: 'reserve', queueName: 'stock', data: order, opts },
      { name: 'charge', queueName: 'payments', data: order, opts },
    ],
  });
}

type OrderJob = Job<{ sku: string; cents: number }>;
export const workers = [
  new Worker('stock', ({ data }: OrderJob) => shop.reserve(data.sku), { connection, concurrency: 10 }),
  new Worker('payments', ({ data }: OrderJob) => shop.charge(data.cents), {
    connection,
    limiter: { max: 50, duration: 1_000 },
  }),
  new Worker(
    'shipping',
    async (job: OrderJob) => {
      const children = Object.entries(await job.getChildrenValues<{ reservation: string }>());
      const [, stock] = children.find(([key]) => key.includes(':stock:'))!;
      await shop.ship(job.data.sku, stock.reservation);
    },
    { connection },
  ),
];
