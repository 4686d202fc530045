// What the microphone hears, as 16-bit samples at 16,000 a second, and how loud it is; runs in the audio thread.
const RATE = 16_000;
const PIECE = 800; // 50 ms

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / RATE;
    this.sum = 0; // of the samples since the last one that was given: the mean of them is a low pass
    this.count = 0;
    this.at = 0;
    this.piece = new Int16Array(PIECE);
    this.filled = 0;
    this.power = 0;
  }

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.sum += sample;
      this.count += 1;
      this.at += 1;
      while (this.at >= this.step) {
        this.at -= this.step;
        if (this.count) [this.last, this.sum, this.count] = [this.sum / this.count, 0, 0];
        this.give(this.last);
      }
    }
    return true;
  }

  give(sample) {
    this.piece[this.filled++] = Math.max(-1, Math.min(1, sample)) * 32_767;
    this.power += sample * sample;
    if (this.filled < PIECE) return;
    this.port.postMessage({ samples: this.piece.buffer, level: Math.sqrt(this.power / PIECE) }, [this.piece.buffer]);
    [this.piece, this.filled, this.power] = [new Int16Array(PIECE), 0, 0];
  }
}

registerProcessor("microphone", Microphone);
