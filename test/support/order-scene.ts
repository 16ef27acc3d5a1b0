import { type CompensationContext, Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { Gate } from './gate.js';

const ONCE = { attempts: 1 };

/** An order whose second step waits until the test sets its result, and whose parts fail on request. */
export class OrderScene {
  readonly ran: string[] = [];
  readonly charging = new Gate<AbortSignal>();
  readonly charge = new Gate<unknown>();
  failing: string[] = [];
  readonly saga = this.define();

  private did(what: string): void {
    this.ran.push(what);
    if (this.failing.includes(what)) throw new Error(`${what} failed`);
  }

  private define() {
    const scene = this; // oxlint-disable-line typescript/no-this-alias
    @Saga({ name: 'order', retry: ONCE, compensationRetry: ONCE })
    class Order {
      @Step({ compensate: 'release' }) reserve() {
        scene.did('reserve');
        return 'reserved';
      }
      release({ result, failure }: CompensationContext<unknown, string>): void | Promise<void> {
        scene.did('release');
        scene.ran.push(`${result} ${failure.kind} ${failure.reason}`);
      }
      @Step({ compensate: 'refund' }) async charge({ signal }: StepContext) {
        scene.did('charge');
        scene.charging.open(signal);
        const result = await scene.charge.opened;
        if (result instanceof Error) throw result;
        return result;
      }
      refund({ result }: CompensationContext<unknown, unknown>) {
        scene.did('refund');
        scene.ran.push(`refunded ${String(result)}`);
      }
      @Step() ship() {
        scene.did('ship');
        return 'shipped';
      }
    }
    return Order;
  }
}
