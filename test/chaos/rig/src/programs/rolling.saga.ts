import { Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { Participants } from './participants.js';
import { type RigInput, RigSaga } from './rig-sagas.js';

type RollingSaga = new (participants: Participants) => RigSaga;

const classes = new Map<number, RollingSaga>();

/** What is deployed again and again: every even version has a step that the odd ones do not have. */
export function rollingSaga(version: number): RollingSaga {
  const type = classes.get(version) ?? rolling(version);
  classes.set(version, type);
  return type;
}

function rolling(version: number): RollingSaga {
  const StepOfEven = version % 2 === 0 ? Step : () => () => undefined;

  @Saga({ name: 'rig-rolling', version, retry: { attempts: 5, delay: 30 } })
  class RigRollingSaga extends RigSaga {
    constructor(participants: Participants) {
      super(participants);
    }
    @Step({ compensate: 'undo' }) reserve(ctx: StepContext<RigInput>) {
      return this.call(ctx);
    }
    @StepOfEven({ compensate: 'undo' }) wrap(ctx: StepContext<RigInput>) {
      return this.call(ctx);
    }
    @Step({ compensate: 'undo' }) ship(ctx: StepContext<RigInput>) {
      return this.shaky(ctx);
    }
    @Step({ compensate: 'undo' }) confirm(ctx: StepContext<RigInput>) {
      return this.last(ctx);
    }
  }
  return RigRollingSaga;
}
