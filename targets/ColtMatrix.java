// Colt 1.2.0: matrices are multiplied by the library's own pool of four threads.
//
// SmpBlas cuts each product into blocks and hands them to the fork/join pool of the old util.concurrent package, which is
// made of monitors and volatile fields. The sums are exact in doubles.
//
// Argument: how many times as many products; 42 make a run of more than 500 million events.
//
// maven: colt:colt:1.2.0
// expect: output
import cern.colt.matrix.DoubleMatrix2D;
import cern.colt.matrix.impl.DenseDoubleMatrix2D;
import cern.colt.matrix.linalg.SeqBlas;
import cern.colt.matrix.linalg.SmpBlas;

public class ColtMatrix {
    static final int SIZE = 120;

    public static void main(String[] args) {
        int products = 3 * (args.length > 0 ? Integer.parseInt(args[0]) : 1);
        SmpBlas.allocateBlas(4, SeqBlas.seqBlas);
        DoubleMatrix2D product = matrix(1);
        for (int turn = 2; turn < 2 + products; turn++) {
            DoubleMatrix2D next = new DenseDoubleMatrix2D(SIZE, SIZE);
            SmpBlas.smpBlas.dgemm(false, false, 1, product, matrix(turn), 0, next);
            SmpBlas.smpBlas.assign(next, value -> value % 1009);
            product = next;
            System.out.println("product " + turn + ": " + (long) product.zSum());
        }
    }

    static DoubleMatrix2D matrix(int seed) {
        var matrix = new DenseDoubleMatrix2D(SIZE, SIZE);
        for (int row = 0; row < SIZE; row++) {
            for (int column = 0; column < SIZE; column++) {
                matrix.setQuick(row, column, (row * 7 + column * 13 + seed) % 101);
            }
        }
        return matrix;
    }
}
