import type { Peer, StoreAddress, SystemName } from '../peers/peer.ts';
import type { Unit } from './notes.ts';
import type { Undo } from './undo.ts';

/** The tools of a scenario. */
export interface Bench {
  readonly quick: boolean;
  readonly rounds: number;
  readonly undo: Undo;
  /** The systems that can run here. */
  has(system: SystemName): boolean;
  peer(system: SystemName): Promise<Peer>;
  /** Make an empty store with the schema of the system. */
  openStore(system: SystemName): Promise<StoreAddress>;
  /** Empty or drop a store. */
  releaseStore(system: SystemName, address: StoreAddress): Promise<void>;
  /** The CPU time that PostgreSQL has used so far; undefined where it is not known. */
  serverCpuMs(): Promise<number | undefined>;
  /** Record a value of this scenario; the values of several rounds belong together. */
  note(what: string, who: string, value: number, unit: Unit): void;
  /** Print what is being done. */
  progress(text: string): void;
}

export interface Scenario {
  readonly name: string;
  /** What it measures, for the table. */
  readonly title: string;
  /** Run only when requested by name. */
  readonly apart?: true;
  run(bench: Bench): Promise<void>;
}
