// Batik 1.17: three threads draw pictures of their own to bitmaps, sharing what the library keeps in static fields.
//
// Style sheets, gradients, paths and transformations; no text, because fonts differ from machine to machine. Each thread
// prints a checksum of its pixels.
//
// maven: org.apache.xmlgraphics:batik-transcoder:1.17
// expect: output
import java.awt.image.BufferedImage;
import java.io.StringReader;
import org.apache.batik.transcoder.TranscoderException;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.image.ImageTranscoder;

public class BatikPictures {
    static final int THREADS = 3;
    static final int PICTURES = 3;

    public static void main(String[] args) throws Exception {
        System.setProperty("java.awt.headless", "true");
        var sums = new long[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> sums[own] = draw(own), "painter " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("painter " + number + ": " + sums[number]);
        }
    }

    static long draw(int own) {
        long sum = 0;
        for (int picture = 0; picture < PICTURES; picture++) {
            var bitmap = new Bitmap();
            try {
                bitmap.transcode(new TranscoderInput(new StringReader(svg(own, picture))), null);
            } catch (TranscoderException e) {
                throw new IllegalStateException(e);
            }
            sum = sum * 31 + bitmap.sum;
        }
        return sum;
    }

    static String svg(int own, int picture) {
        var text = new StringBuilder("<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'>");
        text.append("<style>.a { fill: #4070c0; stroke: black } .b { fill: url(#g); opacity: 0.5 }</style>");
        text.append("<defs><linearGradient id='g'><stop offset='0' stop-color='red'/><stop offset='1' stop-color='blue'/>");
        text.append("</linearGradient></defs>");
        for (int shape = 0; shape < 8; shape++) {
            text.append("<g transform='rotate(").append(shape * 10 + own).append(" 32 32)'>");
            text.append("<path class='").append(shape % 2 == 0 ? "a" : "b").append("' d='M 10 ").append(10 + shape);
            text.append(" C 20 20 40 ").append(picture * 5).append(" 50 50 L 10 50 Z'/></g>");
        }
        return text.append("</svg>").toString();
    }

    static class Bitmap extends ImageTranscoder {
        private long sum;

        @Override
        public BufferedImage createImage(int width, int height) {
            return new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        }

        @Override
        public void writeImage(BufferedImage image, TranscoderOutput output) {
            for (int pixel : image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth())) {
                sum = sum * 31 + pixel;
            }
        }
    }
}
