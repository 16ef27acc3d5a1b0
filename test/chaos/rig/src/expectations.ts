/** Keys of the steps that call a participant; those of one wave happen side by side. */
type Waves = readonly (readonly string[])[];

const WAVES: Record<string, Waves> = {
  'rig-order': [['reserve'], ['charge'], ['ship'], ['confirm']],
  'rig-ledger': [['reserve'], ['confirm']],
  'rig-once': [['reserve'], ['notify'], ['confirm']],
  'rig-family': [['pay'], ['confirm']],
  'rig-shipment': [['pack'], ['send']],
  'rig-queue': [['enter'], ['leave']],
  'rig-fan': [['prepare'], ['deliver[0]', 'deliver[1]', 'deliver[2]'], ['confirm']],
  'rig-declared': [['reserve'], ['charge'], ['ship'], ['confirm']],
};
const ROLLING: Waves = [['reserve'], ['ship'], ['confirm']];
const ROLLING_WRAPPED: Waves = [['reserve'], ['wrap'], ['ship'], ['confirm']];

export function wavesOf(name: string, version: number): Waves {
  if (name === 'rig-rolling') return version % 2 === 0 ? ROLLING_WRAPPED : ROLLING;
  return WAVES[name]!;
}

/** How a saga may end, given what it was started with. */
export function endsOf(name: string, refused: boolean): readonly string[] {
  if (refused) return ['compensated'];
  // Its at-most-once step may have been interrupted. Its outcome is then unknown.
  return name === 'rig-once' ? ['completed', 'compensated'] : ['completed'];
}

/** What it writes into the ledger, in order. */
export function entriesOf(name: string, status: string): readonly string[] {
  if (name !== 'rig-ledger') return [];
  return status === 'completed' ? ['booked'] : ['booked', 'unbooked'];
}
