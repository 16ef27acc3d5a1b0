/** Everything that can be made to fail on purpose. */
export const PARTICIPANTS = {
  inventory: ['reserve', 'release'],
  payment: ['charge', 'refund'],
  shipping: ['ship', 'cancel'],
} as const;

export type Participant = keyof typeof PARTICIPANTS;
export type OperationOf<P extends Participant> = (typeof PARTICIPANTS)[P][number];

export function isParticipant(name: string): name is Participant {
  return Object.hasOwn(PARTICIPANTS, name);
}
